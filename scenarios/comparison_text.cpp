// Puts findings into words; what is not shown is called that.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "engine/base/text.h"
#include "scenarios/comparison_report.h"

namespace servetwin {
namespace {

constexpr std::size_t kGroupsNamed = 2;

double magnitude_unit(const Estimate& one, const MeasureInfo& measure) {
  if (measure.unit == "share") return 0.01;
  return one.base == 0 ? 1 : std::fabs(one.base) / 100;
}

std::string signed_number(double value) {
  return std::fabs(value) < 9.95 ? fmt::format("{:+.2f}", value) : fmt::format("{:+.1f}", value);
}

std::string milliseconds(double ms) {
  if (std::fabs(ms) >= 9995) return fmt::format("{:.1f} s", ms / 1000);
  if (std::fabs(ms) >= 999.5) return fmt::format("{:.2f} s", ms / 1000);
  return fmt::format("{:.3g} ms", ms);
}

std::string names_text(const ComparisonResult& result, const std::vector<std::size_t>& variants) {
  std::vector<std::string> names;
  for (const std::size_t v : variants) names.push_back(result.variants[v].name);
  return join(names, ", ");
}

const Estimate* group_estimate(const GroupResult& group, std::size_t measure) {
  return group.estimates[measure] ? &*group.estimates[measure] : nullptr;
}

// "E2E mean 20.1 s against 25.3 s, -20.4 % (95 % interval -21.8 to -18.9)".
std::string effect_text(const ComparisonResult& result, std::size_t variant, std::size_t measure) {
  const Estimate& one = *result.estimate(variant, measure);
  const MeasureInfo& info = measures()[measure];
  std::string text = fmt::format("{} {} against {}, {}", info.label, value_text(one.own, info),
                                 value_text(one.base, info), change_text(one, info));
  if (one.interval) {
    text += fmt::format(" ({:g} % interval {}, {} seeds)", result.options.confidence * 100,
                        interval_text(one, info), one.seeds);
  }
  return text;
}

// The other judged measures in which it is found worse.
std::string price_text(const ComparisonResult& result, std::size_t variant) {
  std::vector<std::string> prices;
  for (const std::size_t m : result.options.judged) {
    const Estimate* one = result.estimate(variant, m);
    if (one == nullptr || one->finding != Finding::kWorse) continue;
    prices.push_back(fmt::format("{} ({})", measures()[m].label, change_text(*one, measures()[m])));
  }
  return prices.empty() ? "" : "but worse in " + join(prices, " and ");
}

// Whose requests end earlier and later, and groups that lose as a whole.
std::string for_whom_text(const VariantResult& variant) {
  std::string text;
  const std::size_t e2e = static_cast<std::size_t>(Latency::kE2e);
  if (const auto& paired = variant.all().differences[e2e]) {
    const Estimate* ended = group_estimate(variant.all(), *find_measure("completed_share"));
    const bool all_ended = ended != nullptr && ended->own >= 1 && ended->base >= 1;
    text = fmt::format("{} of the requests{} end earlier, {} later", percent_text(paired->less),
                       all_ended ? "" : " that finish under both", percent_text(paired->more));
  }
  std::vector<std::string> losers;
  for (std::size_t g = 1; g < variant.groups.size(); ++g) {
    const Estimate* one = group_estimate(variant.groups[g], mean_of(Latency::kE2e));
    if (one == nullptr || !one->interval || one->interval->low <= 0) continue;
    losers.push_back(fmt::format("{} ({} E2E mean)", variant.groups[g].label,
                                 change_text(*one, measures()[mean_of(Latency::kE2e)])));
  }
  if (losers.empty()) return text;
  const std::size_t more = losers.size() - std::min(losers.size(), kGroupsNamed);
  losers.resize(losers.size() - more);
  return text + (text.empty() ? "it costs " : "; it costs ") + join(losers, " and ") +
         (more > 0 ? fmt::format(" and {} more groups", more) : std::string());
}

// The parts that E2E is made of and that changed beyond their interval, largest first.
std::string parts_text(const VariantResult& variant) {
  const std::array<std::pair<Latency, const char*>, 4> parts = {{{Latency::kFrontEnd, "in the front end"},
                                                                 {Latency::kQueue, "in the queue"},
                                                                 {Latency::kPreempted, "preempted"},
                                                                 {Latency::kInBatch, "in the batch"}}};
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [part, words] : parts) {
    const Estimate* one = group_estimate(variant.all(), mean_of(part));
    if (one == nullptr || !one->interval || one->interval->covers(0)) continue;
    const double change = one->difference();
    changes.emplace_back(change, fmt::format("{} {} {}", milliseconds(std::fabs(change)),
                                             change < 0 ? "less" : "more", words));
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return std::fabs(a.first) > std::fabs(b.first); });
  std::vector<std::string> words;
  for (const auto& change : changes) {
    if (std::fabs(change.first) >= std::fabs(changes.front().first) / 20) words.push_back(change.second);
  }
  return words.empty() ? "" : "a request is on average " + join(words, ", ");
}

std::string why_text(const VariantResult& variant) {
  std::vector<std::string> words;
  if (const std::string parts = parts_text(variant); !parts.empty()) words.push_back(parts);
  const Estimate* preemptions = group_estimate(variant.all(), index_of(RunMeasure::kPreemptions));
  if (preemptions != nullptr && preemptions->interval && !preemptions->interval->covers(0)) {
    words.push_back(fmt::format("{} preemptions a run against {}",
                                format_grouped(std::llround(preemptions->own)),
                                format_grouped(std::llround(preemptions->base))));
  }
  if (!variant.held.empty() &&
      std::llround(variant.held.front().own) != std::llround(variant.held.front().base)) {
    const HeldBack& held = variant.held.front();
    words.push_back(fmt::format("{} held back {} request-seconds against {}", held.limit,
                                format_grouped(std::llround(held.own)),
                                format_grouped(std::llround(held.base))));
  }
  return words.empty() ? "" : "why: " + join(words, "; ");
}

// The variants whose ranking measure has that finding.
std::vector<std::size_t> with_finding(const ComparisonResult& result, Finding finding) {
  std::vector<std::size_t> found;
  for (std::size_t v = 0; v < result.variants.size(); ++v) {
    const Estimate* one = result.estimate(v, result.objective());
    if (v != result.baseline && one != nullptr && one->finding == finding) found.push_back(v);
  }
  return found;
}

bool is_same(const ComparisonResult& result, std::size_t variant) {
  for (const auto& one : result.variants[variant].all().estimates) {
    if (one && (one->difference() != 0 || !one->interval || one->interval->low != one->interval->high)) {
      return false;
    }
  }
  return true;
}

std::string few_seeds_text(const ComparisonResult& result) {
  std::vector<std::string> parts;
  for (std::size_t v = 0; v < result.variants.size(); ++v) {
    if (v == result.baseline || result.estimate(v, result.objective()) == nullptr) continue;
    const std::string whom = for_whom_text(result.variants[v]);
    parts.push_back(fmt::format("{} against {}: {}{}", result.variants[v].name,
                                result.variants[result.baseline].name,
                                effect_text(result, v, result.objective()), whom.empty() ? "" : "; " + whom));
  }
  parts.push_back(fmt::format(
      "{} seed{}, too few for a finding ({} are needed), so this is what happened in {} and no more",
      result.seeds, result.seeds == 1 ? "" : "s", result.fewest(),
      result.seeds == 1 ? "this run" : "these runs"));
  return join(parts, ". ");
}

std::string best_text(const ComparisonResult& result) {
  const std::string baseline = result.variants[result.baseline].name;
  if (!result.best) {
    return fmt::format("nothing is shown to be better than {} in {}", baseline,
                       measures()[result.objective()].label);
  }
  const VariantResult& best = result.variants[*result.best];
  std::vector<std::string> parts = {fmt::format("{} is better than {}: {}", best.name, baseline,
                                                effect_text(result, *result.best, result.objective()))};
  if (!result.not_told_apart.empty()) {
    parts.push_back("not told apart from it: " + names_text(result, result.not_told_apart));
  }
  for (const std::string& part : {price_text(result, *result.best), for_whom_text(best), why_text(best)}) {
    if (!part.empty()) parts.push_back(part);
  }
  return join(parts, "; ");
}

std::string others_text(const ComparisonResult& result) {
  std::vector<std::size_t> same;
  std::vector<std::size_t> not_shown;
  for (const std::size_t v : with_finding(result, Finding::kNotShown)) {
    (is_same(result, v) ? same : not_shown).push_back(v);
  }
  const std::vector<std::size_t> worse = with_finding(result, Finding::kWorse);
  std::string text;
  const std::string baseline = result.variants[result.baseline].name;
  if (!worse.empty()) text += fmt::format(". Worse than {}: {}", baseline, names_text(result, worse));
  if (!not_shown.empty()) text += ". No difference shown: " + names_text(result, not_shown);
  if (!same.empty())
    text += fmt::format(". No difference at all from {}: {}", baseline, names_text(result, same));
  return text;
}

}  // namespace

std::string percent_text(double part) { return fmt::format("{:.1f} %", part * 100); }

std::string value_text(double value, const MeasureInfo& measure) {
  if (measure.unit == "ms") return milliseconds(value);
  if (measure.unit == "share") return percent_text(value);
  if (measure.unit == "index") return fmt::format("{:.3f}", value);
  if (!measure.unit.empty()) return fmt::format("{:.4g} {}", value, measure.unit);
  return std::fabs(value) < 100 ? fmt::format("{:.3g}", value) : format_grouped(std::llround(value));
}

std::string change_text(const Estimate& estimate, const MeasureInfo& measure) {
  const std::string number = signed_number(estimate.difference() / magnitude_unit(estimate, measure));
  if (measure.unit == "share") return number + " points";
  return estimate.base == 0 ? number : number + " %";
}

std::string interval_text(const Estimate& estimate, const MeasureInfo& measure) {
  if (!estimate.interval) return "-";
  const double unit = magnitude_unit(estimate, measure);
  return signed_number(estimate.interval->low / unit) + " to " +
         signed_number(estimate.interval->high / unit);
}

std::vector<std::string> reasons_to_fail(const ComparisonOutcome& outcome) {
  std::vector<std::string> reasons;
  for (const ComparedRunFacts& run : outcome.runs) {
    if (run.stalled) reasons.push_back(fmt::format("{}: stalled with seed {}", run.variant, run.seed));
  }
  if (!outcome.result) return reasons;
  for (const Regression& one : regressions(*outcome.result)) {
    const MeasureInfo& info = measures()[one.measure];
    const Estimate& estimate = *outcome.result->estimate(one.variant, one.measure);
    reasons.push_back(fmt::format("{}: {} {} (interval {})", outcome.result->variants[one.variant].name,
                                  info.label, change_text(estimate, info), interval_text(estimate, info)));
  }
  return reasons;
}

std::string verdict_sentence(const ComparisonOutcome& outcome) {
  if (!outcome.result)
    return "stopped before every variant of a seed was simulated: there is nothing to compare";
  const ComparisonResult& result = *outcome.result;
  std::string text = outcome.complete ? "" : fmt::format("incomplete, {} whole seeds: ", result.seeds);
  const bool too_few = result.seeds < result.fewest();
  text += too_few ? few_seeds_text(result) : best_text(result) + others_text(result);
  std::vector<std::string> stalled;
  for (const ComparedRunFacts& run : outcome.runs) {
    if (run.stalled && (stalled.empty() || stalled.back() != run.variant)) stalled.push_back(run.variant);
  }
  std::sort(stalled.begin(), stalled.end());
  stalled.erase(std::unique(stalled.begin(), stalled.end()), stalled.end());
  if (!stalled.empty()) text += ". Stalled in some run, its requests never end: " + join(stalled, ", ");
  return text;
}

}  // namespace servetwin
