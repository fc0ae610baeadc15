// Decode attention over the latent cache of multi-head latent attention, absorbed form (FlashMLA,
// TensorRT-LLM): all heads of a row read one latent vector a token.
#include "costmodels/operators/attention_dims.h"
#include "engine/base/det_math.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

constexpr double kLatent = 576;  // elements of a token's cache: latent 512 and rotary 64
constexpr double kHeadWork =
    1088;  // multiply-adds of a head and a token: 576 for the score, 512 for the value

// Dims as of decode attention; KV heads and head size are not looked at.
class MlaDecode final : public OperatorFormula {
 public:
  explicit MlaDecode(const Params& /*params*/) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& device) const override {
    const double mb = device.bytes / 1e6;
    return {{"base_us", 12, 0},
            {"filling_us", 0.8, 0.2},
            {"wave1_us", 4, 0.2},
            {"wave2_us", 4, 0.2},
            {"row_us", 0.03, 0.2},
            {"query_mb_us", 0.4, 0.2, Scaling::kMemoryTime},
            {"hidden", 0.2, 0.2},
            {"memory_mb_us", 0.9 * mb, 0.1, Scaling::kBandwidth},
            {"compute", 0.7, 0.1},
            {"memory_base_us", 4, 0.2},
            {"cache_mb_us", 2 * mb, 0.2, Scaling::kBandwidth},
            {"cache_base_us", 2, 0.2},
            {"token_us", 3e-4, 0.2},
            {"heads64_us", 0.8, 0.2}};
  }

  double us(const std::vector<double>& p, const GpuLimits& device, const Dims& dims) const override {
    const double rows = dims[kDecodeRows];
    const double heads = dims[kDecodeHeads];
    const double context = dims[kDecodeContext];
    const double groups = ceil_of(heads / 64);
    const double mb = rows * context * kLatent * dims[kDecodeKvBytes] / 1e6;
    const double flops = rows * context * groups * 64 * 2 * kHeadWork;
    const double query_mb = rows * heads * kHeadWork * 2 / 1e6;
    const double waves = ceil_of(rows * groups / device.sms);
    const double blocks = p[1] * std::min(rows * groups / device.sms, 1.0) +
                          p[2] * std::clamp(waves - 1, 0.0, 1.0) + p[3] * std::max(waves - 2, 0.0) +
                          p[4] * rows + p[5] * query_mb + p[13] * heads / 64;
    const double memory = mb / p[7];
    const double compute = flops / (device.flops * p[8]);
    const double read = std::max(memory, compute) + 0.3 * std::min(memory, compute);
    double us = blocks + p[6] * read;
    if (context > 64) {
      const double share = dims[kDecodeCold] != 0 ? 1.0 : out_of_cache(mb);
      const double warm = p[11] + mb / p[10] + p[6] * blocks;
      const double cold = p[9] + read + p[6] * blocks;
      us = std::max({us, warm + std::max(cold - warm, 0.0) * share, p[11] + context * p[12]});
    }
    return p[0] + us;
  }

  std::vector<Axes> tables() const override {
    return {{{1, 5, 6, 7, 8, 9, 11, 13, 15, 17}, {0, 3, 6, 7, 8, 10}}, {{0, 4, 5, 6, 7}, {0, 3, 6, 8, 10}}};
  }

  void places(const GpuLimits& /*device*/, const Dims& dims, std::vector<double>& out) const override {
    const double rows = det_log2(dims[kDecodeRows]);
    out.push_back(det_log2(dims[kDecodeContext]));
    out.push_back(rows);
    out.push_back(det_log2(dims[kDecodeHeads]));
    out.push_back(rows);
  }
};

const Registered<OperatorFormula, MlaDecode> kMlaDecode{"mla_decode", "Latent attention, decode, absorbed."};

}  // namespace
}  // namespace servetwin
