// Decode attention as FlashAttention 2 does it: groups of query heads are turned before and after, and
// attention without groups does not split the context.
#include "costmodels/operators/attention_dims.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

class DecodeFa2 final : public OperatorFormula {
 public:
  explicit DecodeFa2(const Params& /*params*/) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& device) const override {
    std::vector<FormulaNumber> all{{"base_us", 12, 0}};
    DecodeBlocks::describe(all);
    all.push_back({"hidden", 0.2, 0.2});
    all.push_back({"memory_mb_us", 0.85 * device.bytes / 1e6, 0.6, Scaling::kBandwidth});
    all.push_back({"memory_base_us", 9, 0.2});
    all.push_back({"latency_base_us", 5, 0.2});
    all.push_back({"token_us", 6e-4, 0.2});
    all.push_back({"turn_us", 5, 0.2});
    all.push_back({"ungrouped_token_us", 0.023, 0.2});
    all.push_back({"turn_mb_us", 0.4, 0.2, Scaling::kMemoryTime});
    return all;
  }

  double us(const std::vector<double>& numbers, const GpuLimits& device, const Dims& dims) const override {
    const double* own = numbers.data() + 1 + DecodeBlocks::kNumbers;
    const double rows = dims[kDecodeRows];
    const double context = dims[kDecodeContext];
    const double mb =
        rows * context * dims[kDecodeKvHeads] * dims[kDecodeHeadDim] * 2 * dims[kDecodeKvBytes] / 1e6;
    const double blocks = DecodeBlocks::us(numbers.data() + 1, device, dims);
    const double read = mb / own[1];
    const bool grouped = dims[kDecodeHeads] > dims[kDecodeKvHeads];
    double us = blocks + own[0] * read;
    if (context > 128) {
      const double latency = grouped ? own[3] + context * own[4] : context * own[6];
      us = std::max({us, own[2] + read + own[0] * blocks, latency});
    }
    if (grouped && rows > 1 && dims[kDecodeKvHeads] > 1)
      us += own[5] + own[7] * rows * dims[kDecodeHeads] * dims[kDecodeHeadDim] * 4 / 1e6;
    return numbers[0] + us;
  }
};

const Registered<OperatorFormula, DecodeFa2> kDecodeFa2{"attention_decode_fa2",
                                                        "Decode attention, FlashAttention 2."};

}  // namespace
}  // namespace servetwin
