// Prefill attention of multi-head latent attention with keys and values expanded: heads of 192 and 128.
#include "costmodels/operators/attention_dims.h"
#include "engine/base/det_math.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

constexpr double kLatentTile = 128;  // queries, and keys of a block

// Dims as of prefill attention; what was measured has no cached tokens, which count as further keys here.
class MlaPrefill final : public OperatorFormula {
 public:
  explicit MlaPrefill(const Params& /*params*/) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& /*device*/) const override {
    constexpr Scaling kSm = Scaling::kMultiprocessorTime;
    return {{"base_us", 14, 0},
            {"block_us", 1.5, 0, kSm},
            {"tile_us", 1, 0.2, kSm},
            {"tail", 0.3, 0.2},
            {"query_mb_us", 0.5, 0.2, Scaling::kMemoryTime},
            {"token_us", 0.001, 0.2, Scaling::kMemoryTime},
            {"row_us", 0.01, 0.2},
            {"longest_block_us", 1.5, 0.2, kSm},
            {"longest_tile_us", 1, 0.2},
            {"throttle", 0.01, 0.2},
            {"head_us", 0.02, 0.2}};
  }

  double us(const std::vector<double>& p, const GpuLimits& device, const Dims& dims) const override {
    const double rows = dims[kPrefillRows];
    const double heads = dims[kPrefillHeads];
    const double tokens = dims[kPrefillTokens];
    const double rows_of_tiles = ceil_of(tokens / kLatentTile);
    const double tiles = rows * heads * rows_of_tiles;
    const double mean =
        (dims[kPrefillCached] + tokens * (rows_of_tiles + 1) / (2 * rows_of_tiles)) / kLatentTile;
    double all = (tiles * std::max(1.0, mean) * p[1] + tiles * p[2]) / device.sms;
    all *= 1 + p[9] * std::clamp(det_log2(std::max(all, 1.0)) - 12, 0.0, 6.0);
    const double longest = ceil_of((dims[kPrefillCached] + tokens) / kLatentTile) * p[7] + p[8];
    return p[0] + std::max(longest, all + p[3] * longest) + p[4] * rows * tokens * heads * 640 / 1e6 +
           p[5] * rows * tokens + p[6] * rows + p[10] * heads;
  }

  std::vector<Axes> tables() const override {
    return {{{0, 4, 6, 8, 10, 12, 15}, {-7, -4, -2, 0, 2, 4, 6, 9}}};
  }

  void places(const GpuLimits& device, const Dims& dims, std::vector<double>& out) const override {
    const double tiles =
        dims[kPrefillRows] * dims[kPrefillHeads] * ceil_of(dims[kPrefillTokens] / kLatentTile);
    out.push_back(det_log2(dims[kPrefillTokens]));
    out.push_back(det_log2(tiles / device.sms));
  }
};

const Registered<OperatorFormula, MlaPrefill> kMlaPrefill{"mla_prefill", "Latent attention, prefill."};

}  // namespace
}  // namespace servetwin
