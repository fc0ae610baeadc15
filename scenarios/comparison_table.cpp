// Columns for people: a block for each judged measure, one for groups of requests, one for causes.
#include <algorithm>
#include <fmt/format.h>

#include "engine/base/text.h"
#include "scenarios/comparison_report.h"

namespace servetwin {
namespace {

std::size_t name_width(const ComparisonResult& result) {
  std::size_t width = 20;
  for (const VariantResult& variant : result.variants) width = std::max(width, variant.name.size());
  return width;
}

// How many requests were served better and worse, where the measure is a latency.
std::string shares_text(const VariantResult& variant, std::size_t measure) {
  if (measure >= kLatencyMeasures) return "";
  const auto& paired = variant.all().differences[measure / kStatistics];
  if (!paired) return "";
  return fmt::format("  {:>7} less, {:>7} more", percent_text(paired->less), percent_text(paired->more));
}

std::string measure_block(const ComparisonResult& result, std::size_t measure) {
  const MeasureInfo& info = measures()[measure];
  const std::size_t width = name_width(result);
  const std::string direction = info.better == Better::kLess ? "less is better" : "more is better";
  std::string out = fmt::format("{} ({})\n", info.label, direction);
  for (std::size_t v = 0; v < result.variants.size(); ++v) {
    const Estimate* one = result.estimate(v, measure);
    const std::string value = one == nullptr ? "-" : value_text(one->own, info);
    out += fmt::format("  {:<{}} {:>14}", result.variants[v].name, width, value);
    if (one != nullptr && v != result.baseline) {
      const std::string shares = shares_text(result.variants[v], measure);
      out += fmt::format(" {:>14} {:>20}  {:<{}}{}", change_text(*one, info), interval_text(*one, info),
                         to_string(one->finding), shares.empty() ? 0 : 19, shares);
    }
    out += v == result.baseline ? "  baseline\n" : "\n";
  }
  return out;
}

// The variant whose groups are shown: the best, else the first that is not the baseline.
std::size_t shown_variant(const ComparisonResult& result) {
  return result.best.value_or(result.baseline == 0 ? 1 : 0);
}

std::string groups_block(const ComparisonResult& result) {
  const VariantResult& variant = result.variants[shown_variant(result)];
  const MeasureInfo& info = measures()[mean_of(Latency::kE2e)];
  std::string out = fmt::format("for whom: {} against {}, {}\n", variant.name,
                                result.variants[result.baseline].name, info.label);
  for (const GroupResult& group : variant.groups) {
    const auto& one = group.estimates[mean_of(Latency::kE2e)];
    if (!one) continue;
    const auto& paired = group.differences[static_cast<std::size_t>(Latency::kE2e)];
    out += fmt::format("  {:<38} {:>10} {:>14} {:>20}  {:>7} less, {:>7} more\n", group.label,
                       format_grouped(static_cast<std::int64_t>(group.pairs)), change_text(*one, info),
                       interval_text(*one, info), percent_text(paired->less), percent_text(paired->more));
  }
  return out;
}

std::string held_text(const VariantResult& variant) {
  const auto most = std::max_element(variant.held.begin(), variant.held.end(),
                                     [](const HeldBack& a, const HeldBack& b) { return a.own < b.own; });
  if (most == variant.held.end() || most->own == 0) return "nothing";
  return fmt::format("{}, {:.0f} request-seconds", most->limit, most->own);
}

std::string causes_block(const ComparisonResult& result) {
  struct Column {
    const char* name;
    std::size_t measure;
  };
  const std::vector<Column> columns = {{"queue", mean_of(Latency::kQueue)},
                                       {"preempted", mean_of(Latency::kPreempted)},
                                       {"in the batch", mean_of(Latency::kInBatch)},
                                       {"preemptions", index_of(RunMeasure::kPreemptions)},
                                       {"recomputed", index_of(RunMeasure::kRecomputed)},
                                       {"KV in use", index_of(RunMeasure::kKvUsage)},
                                       {"prefix hits", index_of(RunMeasure::kHitRate)},
                                       {"Jain", index_of(RunMeasure::kFairness)}};
  const std::size_t width = name_width(result);
  std::string out = fmt::format("{:<{}}", "why: means of a run", width + 2);
  for (const Column& column : columns) out += fmt::format(" {:>12}", column.name);
  out += "  held back most by\n";
  for (std::size_t v = 0; v < result.variants.size(); ++v) {
    out += fmt::format("  {:<{}}", result.variants[v].name, width);
    for (const Column& column : columns) {
      const Estimate* one = result.estimate(v, column.measure);
      out += fmt::format(" {:>12}", one == nullptr ? "-" : value_text(one->own, measures()[column.measure]));
    }
    out += "  " + held_text(result.variants[v]) + '\n';
  }
  return out;
}

std::string notes(const ComparisonOutcome& outcome) {
  const ComparisonResult& result = *outcome.result;
  const double level = result.options.confidence * 100;
  std::string out;
  if (result.seeds >= fewest_seeds(result.options.confidence)) {
    out += fmt::format(
        "  intervals: {:g} %, expanded percentile bootstrap over {} seeds, each interval by itself\n", level,
        result.seeds);
  }
  if (result.seeds >= result.fewest()) {
    out +=
        fmt::format("  findings: {} judged together (Holm), the chance of any false one is at most {:g} %\n",
                    result.claims(), 100 - level);
  }
  std::string evidence;
  for (const ComparedRunFacts& run : outcome.runs) {
    if (evidence.find(run.evidence) == std::string::npos)
      evidence += (evidence.empty() ? "" : ", ") + run.evidence;
  }
  return out + "  durations of steps: " + evidence + '\n';
}

}  // namespace

std::string comparison_table(const ComparisonOutcome& outcome) {
  if (!outcome.result) return "";
  std::string out;
  for (const std::size_t measure : outcome.result->options.judged) {
    out += measure_block(*outcome.result, measure) + '\n';
  }
  return out + groups_block(*outcome.result) + '\n' + causes_block(*outcome.result) + '\n' + notes(outcome);
}

}  // namespace servetwin
