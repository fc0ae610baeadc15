// Routed experts: weights of the experts that have tokens, read once, against the products; the busiest rank
// decides.
#include <algorithm>

#include "costmodels/operators/attention_dims.h"
#include "costmodels/operators/expert_dims.h"
#include "engine/base/det_math.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

enum ExpertNumber : std::size_t {
  kExpertBase,
  kMemory,
  kTileUs,
  kCompute,
  kHiddenShare,
  kPairHidden,
  kPairWidth,
  kToken,
  kSkew1,
  kSkew2,
  kLeast,
  kRankHidden,
  kRankWidth,
  kExpertUs,
  kExpertRows,
  kShareOf,
  kRankToken,
  kHiddenUs,
  kWidthUs,
  kMisaligned
};

// Pairs of tokens and experts on the busiest rank, and its experts that have any.
struct Load {
  double pairs = 0;
  double active = 0;
};

// Even routing spreads pairs over all experts. A power law gives expert i a share drawn from a law on
// [1, 0.8 T], scaled to the pairs there are: those that come out below `least` of a pair stay idle.
Load load_of(const std::vector<double>& p, const Dims& d) {
  const double tokens = d[kExpertTokens];
  const double pairs = tokens * d[kExpertTopK];
  const double ranks = d[kExpertRanks];
  const double local = d[kExpertCount] / ranks;
  const double cap = std::max(ranks * std::min(d[kExpertTopK], local) / d[kExpertTopK], 1.0);
  const bool even = d[kExpertRouting] == 0;
  const double exponent = even ? 0 : p[d[kExpertRouting] == 1 ? kSkew1 : kSkew2];
  const double few = !even && ranks > 1 ? p[kRankToken] / tokens : 0;
  const double busiest = std::min(cap, det_pow(ranks, exponent) * (1 + few));
  Load load;
  load.pairs = std::max(pairs * busiest / ranks, std::min(1.0, pairs));
  if (even) {
    load.active = std::max(1.0, std::min(local, load.pairs));
    return load;
  }
  const double a = d[kExpertRouting] == 1 ? 0.01 : 0.2;
  const double most = std::max(0.8 * tokens, 1.5);
  const double tail = det_pow(most, -a);
  const double mean = a / (1 - a) * (det_pow(most, 1 - a) - 1) / (1 - tail);
  const double least = std::clamp(p[kLeast] * d[kExpertCount] * mean / (pairs * busiest), 1.0, most);
  const double drawn = local * (1 - (1 - det_pow(least, -a)) / (1 - tail));
  load.active = std::max(std::min(drawn, load.pairs), std::min(load.pairs, 0.27 * local * p[kShareOf]));
  load.active = std::max(1.0, load.active);
  return load;
}

class Experts final : public OperatorFormula {
 public:
  explicit Experts(const Params& /*params*/) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& device) const override {
    constexpr Scaling kMemoryTime = Scaling::kMemoryTime;
    return {{"base_us", 15, 1},
            {"memory_mb_us", 0.85 * device.bytes / 1e6, 1, Scaling::kBandwidth},
            {"tile_us", 0.5, 1},
            {"compute", 0.55, 1},
            {"hidden", 0.3, 1},
            {"pair_hidden_us", 2, 1, kMemoryTime},
            {"pair_width_us", 4, 1, kMemoryTime},
            {"token_us", 0.001, 2, kMemoryTime},
            {"skew_1.01", 0.45, 2},
            {"skew_1.2", 0.55, 2},
            {"least", 0.5, 2},
            {"rank_hidden_us", 1, 2, kMemoryTime},
            {"rank_width_us", 2, 2, kMemoryTime},
            {"expert_us", 0.02, 1},
            {"expert_rows", 8, 2},
            {"share", 1, 2},
            {"rank_token", 0.5, 1},
            {"hidden_us", 3, 1},
            {"width_us", 3, 1},
            {"misaligned", 0.8, 1}};
  }

  double us(const std::vector<double>& p, const GpuLimits& device, const Dims& d) const override {
    const Load load = load_of(p, d);
    const double hidden = d[kExpertHidden];
    const double width = d[kExpertWidth];
    const double pairs = d[kExpertTokens] * d[kExpertTopK];
    const double tiles = load.active * (ceil_of(2 * width / 64) + ceil_of(hidden / 64));
    const bool aligned = static_cast<std::int64_t>(width) % 16 == 0;
    const double penalty = aligned ? 1 : 1 + p[kMisaligned];
    const double weights_mb = load.active * 3 * hidden * width * d[kExpertBits] / 8 / 1e6;
    const double memory = (weights_mb / p[kMemory] + tiles * p[kTileUs] / device.sms) * penalty;
    const double flops = (load.pairs + load.active * p[kExpertRows]) * 6 * hidden * width;
    const double rate = device.flops * p[kCompute] * d[kExpertRate];
    const double compute = flops / rate * penalty;
    const double moved = (pairs * (p[kPairHidden] * hidden + p[kPairWidth] * width) +
                          load.pairs * (p[kRankHidden] * hidden + p[kRankWidth] * width)) /
                         1e6;
    return p[kExpertBase] + (p[kHiddenUs] * hidden + p[kWidthUs] * width) / 1e3 + std::max(memory, compute) +
           p[kHiddenShare] * std::min(memory, compute) + moved + p[kToken] * d[kExpertTokens] +
           p[kExpertUs] * d[kExpertCount] / d[kExpertRanks];
  }

  std::vector<Axes> tables() const override {
    const std::vector<double> tokens{0, 2, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16};
    return {{tokens, {5, 7, 9, 11, 14}},
            {tokens, {0, 2, 4, 6, 8}},
            {tokens, {0, 1, 2, 3, 4.5}},
            {{11, 12, 13}},
            {{0, 1, 3, 5, 8}}};
  }

  void places(const GpuLimits& /*device*/, const Dims& d, std::vector<double>& out) const override {
    const double tokens = det_log2(d[kExpertTokens]);
    for (const double with : {d[kExpertWidth], d[kExpertCount] / d[kExpertRanks], d[kExpertTopK]}) {
      out.push_back(tokens);
      out.push_back(det_log2(with));
    }
    out.push_back(det_log2(d[kExpertHidden]));
    out.push_back(det_log2(d[kExpertRanks]));
  }
};

const Registered<OperatorFormula, Experts> kExperts{"experts", "Routed experts of one layer on one rank."};

}  // namespace
}  // namespace servetwin
