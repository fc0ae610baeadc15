// comparison.json and comparison.csv: every measure of every group, judged or not.
#include <nlohmann/json.hpp>

#include "engine/base/digest.h"
#include "engine/base/text.h"
#include "generated/servetwin_build.h"
#include "scenarios/comparison_report.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* direction_name(Better better) {
  switch (better) {
    case Better::kLess:
      return "less";
    case Better::kMore:
      return "more";
    case Better::kNeither:
      return "neither";
  }
  return "?";
}

Json estimate_json(const Estimate& one, bool is_baseline) {
  Json out = {{"value", one.own}, {"seeds", one.seeds}};
  if (is_baseline) return out;
  out["baseline"] = one.base;
  out["difference"] = one.difference();
  out["relative"] = or_null(one.relative());
  out["low"] = one.interval ? Json(one.interval->low) : Json(nullptr);
  out["high"] = one.interval ? Json(one.interval->high) : Json(nullptr);
  if (one.finding == Finding::kNotJudged) return out;
  out["p"] = or_null(one.p);
  out["adjusted_p"] = or_null(one.adjusted_p);
  out["finding"] = to_string(one.finding);
  return out;
}

Json paired_json(const PairedDifference& one) {
  return {{"mean", one.mean}, {"p10", one.p10},         {"p50", one.p50},
          {"p90", one.p90},   {"share_less", one.less}, {"share_more", one.more}};
}

Json group_json(const GroupResult& group, bool is_baseline) {
  Json out = {{"name", group.name}, {"label", group.label}, {"pairs", group.pairs}};
  out["measures"] = Json::object();
  for (std::size_t m = 0; m < kNumMeasures; ++m) {
    if (group.estimates[m])
      out["measures"][measures()[m].name] = estimate_json(*group.estimates[m], is_baseline);
  }
  if (is_baseline) return out;
  out["paired_differences_ms"] = Json::object();
  for (std::size_t l = 0; l < kNumLatencies; ++l) {
    const std::string& name = measures()[l * kStatistics].name;
    if (group.differences[l]) {
      out["paired_differences_ms"][name.substr(0, name.find('.'))] = paired_json(*group.differences[l]);
    }
  }
  return out;
}

Json variant_json(const ComparisonResult& result, std::size_t index) {
  const VariantResult& variant = result.variants[index];
  Json out = {{"name", variant.name}, {"baseline", index == result.baseline}};
  out["held_back"] = Json::array();
  for (const HeldBack& held : variant.held) {
    out["held_back"].push_back(
        {{"limit", held.limit}, {"request_seconds", held.own}, {"baseline_request_seconds", held.base}});
  }
  out["groups"] = Json::array();
  for (const GroupResult& group : variant.groups) {
    out["groups"].push_back(group_json(group, index == result.baseline));
  }
  return out;
}

void add_result(Json& out, const ComparisonResult& result) {
  const auto name = [&](std::size_t v) { return result.variants[v].name; };
  out["baseline"] = name(result.baseline);
  out["best"] = result.best ? Json(name(*result.best)) : Json(nullptr);
  out["not_told_apart_from_best"] = Json::array();
  for (const std::size_t v : result.not_told_apart) out["not_told_apart_from_best"].push_back(name(v));
  out["seeds"] = result.seeds;
  out["confidence"] = result.options.confidence;
  out["tolerance"] = result.options.tolerance;
  out["interval_method"] = "expanded percentile bootstrap of the mean over seeds";
  out["test_method"] = "paired sign-flip test over seeds, Holm over variants and judged measures";
  out["judged"] = Json::array();
  for (const std::size_t m : result.options.judged) out["judged"].push_back(measures()[m].name);
  out["regressions"] = Json::array();
  for (const Regression& one : regressions(result)) {
    out["regressions"].push_back({{"variant", name(one.variant)}, {"measure", measures()[one.measure].name}});
  }
  out["variants"] = Json::array();
  for (std::size_t v = 0; v < result.variants.size(); ++v) out["variants"].push_back(variant_json(result, v));
}

Json run_json(const ComparedRunFacts& run) {
  Json out = {{"variant", run.variant}, {"seed", run.seed}, {"scenario_sha256", run.scenario_hash}};
  out["digests"] = {{"decisions", to_hex(run.decisions_digest)}, {"timeline", to_hex(run.timeline_digest)}};
  out["cost_model"] = run.cost_model;
  out["evidence"] = run.evidence;
  out["stalled"] = run.stalled;
  return out;
}

std::string number(const std::optional<double>& value) { return value ? format_number(*value) : ""; }

std::string csv_row(const VariantResult& variant, const GroupResult& group, std::size_t m) {
  const Estimate& one = *group.estimates[m];
  const MeasureInfo& info = measures()[m];
  std::vector<std::string> cells = {csv_field(variant.name),
                                    csv_field(group.name),
                                    info.name,
                                    info.unit,
                                    direction_name(info.better),
                                    std::to_string(one.seeds),
                                    std::to_string(group.pairs),
                                    number(one.base),
                                    number(one.own),
                                    number(one.difference()),
                                    number(one.relative())};
  cells.push_back(one.interval ? number(one.interval->low) : "");
  cells.push_back(one.interval ? number(one.interval->high) : "");
  cells.push_back(number(one.p));
  cells.push_back(number(one.adjusted_p));
  cells.emplace_back(one.finding == Finding::kNotJudged ? "" : to_string(one.finding));
  const bool is_mean = m < kLatencyMeasures && m % kStatistics == 0;
  const auto paired = is_mean ? group.differences[m / kStatistics] : std::nullopt;
  for (const auto part : {&PairedDifference::p10, &PairedDifference::p50, &PairedDifference::p90,
                          &PairedDifference::less, &PairedDifference::more}) {
    cells.push_back(paired ? format_number((*paired).*part) : "");
  }
  return join(cells, ",") + '\n';
}

}  // namespace

std::string comparison_json(const ComparisonOutcome& outcome) {
  Json out;
  out["schema_version"] = kComparisonSchemaVersion;
  out["complete"] = outcome.complete;
  out["name"] = outcome.name;
  out["verdict"] = verdict_sentence(outcome);
  if (outcome.result) add_result(out, *outcome.result);
  out["measures"] = Json::array();
  for (const MeasureInfo& m : measures()) {
    out["measures"].push_back(
        {{"name", m.name}, {"label", m.label}, {"unit", m.unit}, {"better", direction_name(m.better)}});
  }
  out["runs"] = Json::array();
  for (const ComparedRunFacts& run : outcome.runs) out["runs"].push_back(run_json(run));
  out["provenance"] = {{"tool", "servetwin"}, {"version", kVersion}};
  out["provenance"]["build"] = {
      {"commit", kGitCommit}, {"compiler", kCompiler}, {"type", kBuildType}, {"flags", kBuildFlags}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string comparison_csv(const ComparisonOutcome& outcome) {
  std::string out =
      "variant,group,measure,unit,better,seeds,pairs,baseline,value,difference,relative,low,high,p,adjusted_"
      "p,"
      "finding,paired_p10,paired_p50,paired_p90,paired_share_less,paired_share_more\n";
  if (!outcome.result) return out;
  for (const VariantResult& variant : outcome.result->variants) {
    for (const GroupResult& group : variant.groups) {
      for (std::size_t m = 0; m < kNumMeasures; ++m) {
        if (group.estimates[m]) out += csv_row(variant, group, m);
      }
    }
  }
  return out;
}

}  // namespace servetwin
