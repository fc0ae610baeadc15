// Decode attention as FlashAttention 3 does it: KV read from the second-level cache at first, then from
// memory; a long context of few rows is bound by one block's latency.
#include "costmodels/operators/attention_dims.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

class DecodeFa3 final : public OperatorFormula {
 public:
  explicit DecodeFa3(const Params& /*params*/) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& device) const override {
    const double mb = device.bytes / 1e6;
    std::vector<FormulaNumber> all{{"base_us", 12, 0}};
    DecodeBlocks::describe(all);
    all.push_back({"hidden", 0.2, 0.2});
    all.push_back({"memory_mb_us", 0.93 * mb, 0.6, Scaling::kBandwidth});
    all.push_back({"memory_base_us", 4, 0.2});
    all.push_back({"cache_mb_us", 2.2 * mb, 0.2, Scaling::kBandwidth});
    all.push_back({"cache_base_us", 2, 0.2});
    all.push_back({"token_us", 3e-4, 0.2});
    return all;
  }

  double us(const std::vector<double>& numbers, const GpuLimits& device, const Dims& dims) const override {
    const double* own = numbers.data() + 1 + DecodeBlocks::kNumbers;
    const double hidden = own[0];
    const double memory = own[1];
    const double memory_base = own[2];
    const double cache = own[3];
    const double cache_base = own[4];
    const double context = dims[kDecodeContext];
    const double mb = dims[kDecodeRows] * context * dims[kDecodeKvHeads] * dims[kDecodeHeadDim] * 2 *
                      dims[kDecodeKvBytes] / 1e6;
    const double blocks = DecodeBlocks::us(numbers.data() + 1, device, dims);
    double us = blocks + hidden * mb / memory;
    if (context > 128) {
      const bool is_cold = dims[kDecodeCold] != 0;
      const double warm = cache_base + std::min(mb, kCacheMb) / cache;
      const double cold = memory_base + std::max(mb, is_cold ? 0.0 : 1.5 * kCacheMb) / memory;
      const double share = is_cold ? 1.0 : out_of_cache(mb);
      const double read = warm + std::max(cold - warm, 0.0) * share + hidden * blocks;
      us = std::max({us, read, cache_base + context * own[5]});
    }
    return numbers[0] + us;
  }
};

const Registered<OperatorFormula, DecodeFa3> kDecodeFa3{"attention_decode_fa3",
                                                        "Decode attention, FlashAttention 3."};

}  // namespace
}  // namespace servetwin
