// Gathers each measure over the seeds, then judges all variants together.
#include "sim/planner/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/check.h"

namespace servetwin {
namespace {

using SeedMeans = std::vector<double>;

double mean(const SeedMeans& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// One resampling for each number of seeds: a group may be missing in some.
class Bootstraps {
 public:
  explicit Bootstraps(double confidence) : confidence_(confidence) {}

  std::optional<Interval> interval(const SeedMeans& differences) {
    const int size = static_cast<int>(differences.size());
    return made_.try_emplace(size, size, confidence_).first->second.interval(differences);
  }

 private:
  double confidence_;
  std::map<int, MeanBootstrap> made_;
};

const GroupValues* find_group(const SeedValues& seed, std::size_t variant, const std::string& name) {
  for (const GroupValues& group : seed.variants[variant]) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

std::vector<std::string> group_names(const std::vector<SeedValues>& seeds, std::size_t variant) {
  std::vector<std::string> names;
  for (const SeedValues& seed : seeds) {
    for (const GroupValues& group : seed.variants[variant]) {
      if (std::find(names.begin(), names.end(), group.name) == names.end()) names.push_back(group.name);
    }
  }
  return names;
}

class Judge {
 public:
  Judge(const std::vector<std::string>& names,
        std::size_t baseline,
        const std::vector<SeedValues>& seeds,
        const JudgeOptions& options)
      : seeds_(seeds), bootstraps_(options.confidence) {
    CHECK_INVARIANT(!seeds.empty() && !options.judged.empty());
    result_.options = options;
    result_.baseline = baseline;
    result_.seeds = static_cast<int>(seeds.size());
    for (const std::string& name : names) result_.variants.push_back({name, {}, {}});
  }

  ComparisonResult go() {
    for (std::size_t v = 0; v < result_.variants.size(); ++v) {
      for (const std::string& name : group_names(seeds_, v)) add_group(v, name);
      add_held(v);
    }
    add_findings();
    add_best();
    return std::move(result_);
  }

 private:
  void add_group(std::size_t variant, const std::string& name) {
    GroupResult group;
    std::vector<const GroupValues*> found;
    for (const SeedValues& seed : seeds_) {
      if (const GroupValues* values = find_group(seed, variant, name)) found.push_back(values);
    }
    group.name = name;
    group.label = found.front()->label;
    for (const GroupValues* values : found) group.pairs += values->pairs;
    for (std::size_t m = 0; m < kNumMeasures; ++m) group.estimates[m] = estimate(variant, m, found);
    for (std::size_t l = 0; l < kNumLatencies; ++l) group.differences[l] = mean_difference(l, found);
    result_.variants[variant].groups.push_back(std::move(group));
  }

  std::optional<Estimate> estimate(std::size_t variant,
                                   std::size_t measure,
                                   const std::vector<const GroupValues*>& found) {
    SeedMeans base;
    SeedMeans own;
    SeedMeans differences;
    for (const GroupValues* values : found) {
      if (!values->base[measure] || !values->own[measure]) continue;
      base.push_back(*values->base[measure]);
      own.push_back(*values->own[measure]);
      differences.push_back(own.back() - base.back());
    }
    if (own.empty()) return std::nullopt;
    Estimate result;
    result.seeds = static_cast<int>(own.size());
    result.base = mean(base);
    result.own = mean(own);
    if (variant == result_.baseline) return result;
    result.interval = bootstraps_.interval(differences);
    const auto& judged = result_.options.judged;
    const bool is_all = result_.variants[variant].groups.empty();
    if (is_all && std::find(judged.begin(), judged.end(), measure) != judged.end()) {
      result.p = sign_flip_p(differences);
    }
    return result;
  }

  static std::optional<PairedDifference> mean_difference(std::size_t latency,
                                                         const std::vector<const GroupValues*>& found) {
    PairedDifference sum;
    double count = 0;
    constexpr double PairedDifference::*kParts[] = {&PairedDifference::mean, &PairedDifference::p10,
                                                    &PairedDifference::p50,  &PairedDifference::p90,
                                                    &PairedDifference::less, &PairedDifference::more};
    for (const GroupValues* values : found) {
      const auto& one = values->differences[latency];
      if (!one) continue;
      for (const auto part : kParts) sum.*part += *one.*part;
      count += 1;
    }
    if (count == 0) return std::nullopt;
    for (const auto part : kParts) sum.*part /= count;
    return sum;
  }

  void add_held(std::size_t variant) {
    std::map<std::string, HeldBack> by_limit;
    const auto seeds = static_cast<double>(seeds_.size());
    for (const SeedValues& seed : seeds_) {
      for (const auto& [limit, request_seconds] : seed.held[result_.baseline]) {
        by_limit[limit].base += request_seconds / seeds;
      }
      for (const auto& [limit, request_seconds] : seed.held[variant]) {
        by_limit[limit].own += request_seconds / seeds;
      }
    }
    std::vector<HeldBack>& held = result_.variants[variant].held;
    for (auto& [limit, both] : by_limit) held.push_back({limit, both.base, both.own});
    const auto change = [](const HeldBack& one) { return std::fabs(one.own - one.base); };
    std::stable_sort(held.begin(), held.end(),
                     [&](const HeldBack& a, const HeldBack& b) { return change(a) > change(b); });
  }

  void add_findings() {
    std::vector<Estimate*> judged;
    std::vector<Better> directions;
    std::vector<double> p;
    for (VariantResult& variant : result_.variants) {
      for (const std::size_t m : result_.options.judged) {
        std::optional<Estimate>& one = variant.groups.front().estimates[m];
        if (!one || !one->p) continue;
        judged.push_back(&*one);
        directions.push_back(measures()[m].better);
        p.push_back(*one->p);
      }
    }
    const std::vector<double> adjusted = holm_adjusted(p);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      judged[i]->adjusted_p = adjusted[i];
      judged[i]->finding = finding(*judged[i], directions[i]);
    }
  }

  Finding finding(const Estimate& one, Better better) const {
    if (!one.interval || one.seeds < result_.fewest()) return Finding::kTooFewSeeds;
    if (one.interval->covers(0) || *one.adjusted_p > 1 - result_.options.confidence)
      return Finding::kNotShown;
    return (one.difference() < 0) == (better == Better::kLess) ? Finding::kBetter : Finding::kWorse;
  }

  void add_best() {
    const std::size_t objective = result_.objective();
    const bool less = measures()[objective].better == Better::kLess;
    for (std::size_t v = 0; v < result_.variants.size(); ++v) {
      const Estimate* own = result_.estimate(v, objective);
      if (own == nullptr || own->finding != Finding::kBetter) continue;
      const Estimate* best = result_.best ? result_.estimate(*result_.best, objective) : nullptr;
      if (best == nullptr || (less ? own->own < best->own : own->own > best->own)) result_.best = v;
    }
    if (!result_.best) return;
    for (std::size_t v = 0; v < result_.variants.size(); ++v) {
      if (v == *result_.best || v == result_.baseline) continue;
      SeedMeans differences;
      for (const SeedValues& seed : seeds_) {
        const auto& best = seed.variants[*result_.best].front().own[objective];
        const auto& other = seed.variants[v].front().own[objective];
        if (best && other) differences.push_back(*best - *other);
      }
      const auto interval = differences.empty() ? std::nullopt : bootstraps_.interval(differences);
      if (!interval || interval->covers(0)) result_.not_told_apart.push_back(v);
    }
  }

  const std::vector<SeedValues>& seeds_;
  Bootstraps bootstraps_;
  ComparisonResult result_;
};

}  // namespace

const char* to_string(Finding finding) {
  switch (finding) {
    case Finding::kNotJudged:
      return "not judged";
    case Finding::kBetter:
      return "better";
    case Finding::kWorse:
      return "worse";
    case Finding::kNotShown:
      return "no difference shown";
    case Finding::kTooFewSeeds:
      return "too few seeds";
  }
  return "?";
}

std::optional<double> Estimate::relative() const {
  if (base == 0) return std::nullopt;
  return difference() / base;
}

const Estimate* ComparisonResult::estimate(std::size_t variant, std::size_t measure) const {
  const std::optional<Estimate>& found = variants[variant].all().estimates[measure];
  return found ? &*found : nullptr;
}

ComparisonResult judge(const std::vector<std::string>& names,
                       std::size_t baseline,
                       const std::vector<SeedValues>& seeds,
                       const JudgeOptions& options) {
  return Judge(names, baseline, seeds, options).go();
}

std::vector<Regression> regressions(const ComparisonResult& result) {
  std::vector<Regression> found;
  for (std::size_t v = 0; v < result.variants.size(); ++v) {
    for (const std::size_t m : result.options.judged) {
      const Estimate* one = result.estimate(v, m);
      if (one == nullptr || one->finding != Finding::kWorse) continue;
      const auto relative = one->relative();
      if (!relative || std::fabs(*relative) > result.options.tolerance) found.push_back({v, m});
    }
  }
  return found;
}

}  // namespace servetwin
