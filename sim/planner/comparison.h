// Variants against a baseline over seeds: estimates with intervals, and what they allow to be said.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/planner/measures.h"
#include "sim/planner/resampling.h"

namespace servetwin {

struct JudgeOptions {
  std::vector<std::size_t> judged;  // measures that findings are made of; the first one ranks the variants
  double confidence = 0.95;
  double tolerance = 0.01;  // a smaller part of the baseline's value is no regression
};

// kBetter and kWorse: the interval leaves 0 out, and the sign-flip p adjusted (Holm) for all variants and
// judged measures is at most 1 - confidence.
enum class Finding : std::uint8_t { kNotJudged, kBetter, kWorse, kNotShown, kTooFewSeeds };
const char* to_string(Finding finding);

// One measure of one group, as means over the seeds that have it.
struct Estimate {
  int seeds = 0;
  double base = 0;
  double own = 0;
  std::optional<Interval> interval;  // of own less base
  std::optional<double> p;           // of judged measures of all requests
  std::optional<double> adjusted_p;
  Finding finding = Finding::kNotJudged;

  double difference() const { return own - base; }
  // Of the baseline's value; nothing where that is 0.
  std::optional<double> relative() const;
};

struct GroupResult {
  std::string name;
  std::string label;      // of the first seed
  std::size_t pairs = 0;  // over all seeds
  std::array<std::optional<Estimate>, kNumMeasures> estimates{};
  std::array<std::optional<PairedDifference>, kNumLatencies> differences{};  // means over seeds
};

// Request-seconds that one limit held back, mean over seeds.
struct HeldBack {
  std::string limit;
  double base = 0;
  double own = 0;
};

struct VariantResult {
  std::string name;
  std::vector<GroupResult> groups;  // all requests first
  std::vector<HeldBack> held;       // largest change first

  const GroupResult& all() const { return groups.front(); }
};

struct ComparisonResult {
  JudgeOptions options;
  std::size_t baseline = 0;
  int seeds = 0;
  std::vector<VariantResult> variants;
  // The one with the best ranking measure among those shown to be better than the baseline.
  std::optional<std::size_t> best;
  std::vector<std::size_t> not_told_apart;  // from the best, by the intervals of the differences between them

  std::size_t objective() const { return options.judged.front(); }
  // Findings that are judged together, and the fewest seeds that can give one.
  std::size_t claims() const { return (variants.size() - 1) * options.judged.size(); }
  int fewest() const { return fewest_seeds(options.confidence, claims()); }
  const Estimate* estimate(std::size_t variant, std::size_t measure) const;
};

// The variants of one seed.
struct SeedValues {
  std::vector<std::vector<GroupValues>> variants;  // against the baseline, which is also compared with itself
  std::vector<std::vector<std::pair<std::string, double>>> held;
};

// `seeds` is not empty, and all have the variants that are named.
ComparisonResult judge(const std::vector<std::string>& names,
                       std::size_t baseline,
                       const std::vector<SeedValues>& seeds,
                       const JudgeOptions& options);

struct Regression {
  std::size_t variant = 0;
  std::size_t measure = 0;
};

// Judged measures in which a variant is shown to be worse by more than the tolerance.
std::vector<Regression> regressions(const ComparisonResult& result);

}  // namespace servetwin
