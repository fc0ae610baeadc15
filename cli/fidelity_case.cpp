// Figures come from the reports that simulate and live print, steps and decisions from the journals.
#include "cli/fidelity_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "calibrate/fit/step_fit.h"
#include "cli/parity_check.h"
#include "engine/base/check.h"
#include "scenarios/assemble.h"

namespace servetwin {
namespace {

constexpr double kTooNoisy = 0.1;

struct LatencyKind {
  const char* name;
  Distribution ClassReport::*values;
  double mean_bound;  // 0: not judged
};

constexpr std::array<LatencyKind, 4> kLatencies{{{"TTFT", &ClassReport::ttft, 0.10},
                                                 {"TPOT", &ClassReport::tpot, 0.05},
                                                 {"ITL", &ClassReport::itl, 0},
                                                 {"E2E", &ClassReport::e2e, 0.05}}};

struct StatisticKind {
  const char* name;
  std::optional<double> (*of)(const Distribution& values);
};

constexpr std::array<StatisticKind, 4> kStatistics{{
    {"mean", [](const Distribution& d) { return d.mean; }},
    {"p50", [](const Distribution& d) { return d.median(); }},
    {"p90", [](const Distribution& d) { return d.p90(); }},
    {"p99", [](const Distribution& d) { return d.p99(); }},
}};

double token_rate(const Report& report) { return report.per_second(report.measured.outputs); }

void add_latencies(FidelityCase& result,
                   const std::vector<LiveRunSteps>& live,
                   const Report& simulated,
                   bool judges_ttft) {
  for (const LatencyKind& kind : kLatencies) {
    for (const StatisticKind& statistic : kStatistics) {
      const auto value = [&](const Report& report) {
        return statistic.of(report.measured.*kind.values).value_or(0) / 1e6;
      };
      FidelityRow row{fmt::format("{} {}", kind.name, statistic.name), "ms", {}, value(simulated), {}};
      for (const LiveRunSteps& run : live) row.live.push_back(value(run.result.report));
      const bool is_mean = &statistic == kStatistics.data();
      const bool judged = is_mean && kind.mean_bound > 0 && (judges_ttft || &kind != kLatencies.data());
      if (judged) row.bound = kind.mean_bound;
      result.rows.push_back(std::move(row));
    }
  }
}

// What the simulation would take for the very steps that ran live.
void add_step_errors(FidelityCase& result, const std::vector<LiveRunSteps>& live, const Scenario& scenario) {
  const RunParts parts = assemble(scenario);
  std::vector<MeasuredStep> steps;
  std::vector<double> predicted;
  double sum_live = 0;
  double sum_predicted = 0;
  for (const LiveRunSteps& run : live) {
    for (const LiveStep& step : run.steps) {
      StepInput input;
      input.shape = &step.shape;
      steps.push_back({step.shape, static_cast<double>(to_ns(step.whole()))});
      predicted.push_back(static_cast<double>(to_ns(parts.cost->step_time(input))));
      sum_live += steps.back().ns;
      sum_predicted += predicted.back();
    }
  }
  result.step_errors = errors_of(steps, predicted);
  result.steps_together = sum_predicted / sum_live - 1;
}

void add_agreement(FidelityCase& result, const std::vector<LiveRunSteps>& live) {
  const auto share = [&](const auto& compare) {
    DecisionComparison all;
    for (const LiveRunSteps& run : live) {
      const DecisionComparison one = compare(run.journal);
      all.steps += one.steps;
      all.equal_steps += one.equal_steps;
    }
    return all.equal_share();
  };
  result.equal_predicted = share([](const std::string& journal) { return compare_with_prediction(journal); });
  result.equal_replayed = share([](const std::string& journal) { return check_parity(journal).comparison; });
}

}  // namespace

double FidelityRow::mean() const {
  return std::accumulate(live.begin(), live.end(), 0.0) / static_cast<double>(live.size());
}

double FidelityRow::spread() const {
  if (live.size() < 2 || mean() <= 0) return 0;
  double squares = 0;
  for (const double value : live) squares += (value - mean()) * (value - mean());
  return std::sqrt(squares / static_cast<double>(live.size() - 1)) / mean();
}

double FidelityRow::error() const { return mean() > 0 ? simulated / mean() - 1 : 0; }

double FidelityRow::allowed() const { return std::max(bound.value_or(0), 2 * spread()); }

FidelityVerdict verdict_of(const FidelityRow& row) {
  if (!row.bound) return FidelityVerdict::kNotJudged;
  if (row.spread() > kTooNoisy) return FidelityVerdict::kTooNoisy;
  return std::abs(row.error()) <= row.allowed() ? FidelityVerdict::kWithin : FidelityVerdict::kOff;
}

const char* to_string(FidelityVerdict verdict) {
  constexpr std::array<const char*, 4> kNames{"", "within", "OFF", "too noisy to judge"};
  return kNames[static_cast<std::size_t>(verdict)];
}

FidelityCase run_case(const std::string& name,
                      const Scenario& scenario,
                      FidelityKind kind,
                      std::optional<double> load,
                      const FidelityOptions& options) {
  FidelityCase result;
  result.name = name;
  std::vector<LiveRunSteps> live;
  for (int repeat = 1; repeat <= options.repeats && !*options.stop; ++repeat) {
    LiveWorldOptions world;
    world.threads = options.threads;
    world.cpus = options.cpus;
    live.push_back(run_live_steps(scenario, std::move(world), fmt::format("{}-{}", options.folder, repeat),
                                  options.stop));
  }
  if (*options.stop) return result;
  const Report simulated = run_scenario(scenario).report;
  result.requests_per_second = simulated.per_second(simulated.measured.outcomes.completed);
  const bool saturated = kind == FidelityKind::kSaturated;
  FidelityRow rate{saturated ? "capacity" : "output rate", "tokens/s", {}, token_rate(simulated), {}};
  for (const LiveRunSteps& run : live) rate.live.push_back(token_rate(run.result.report));
  if (saturated) rate.bound = 0.03;
  result.rows.push_back(std::move(rate));
  add_latencies(result, live, simulated, !saturated && load.value_or(0) < 1);
  add_step_errors(result, live, scenario);
  add_agreement(result, live);
  return result;
}

}  // namespace servetwin
