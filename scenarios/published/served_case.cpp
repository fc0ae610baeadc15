// Goes through the text of a scenario, so that a published run is what a user could write down too.
#include "scenarios/published/served_case.h"

#include <atomic>
#include <filesystem>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/metrics/output_file.h"
#include "scenarios/request_rows.h"
#include "scenarios/run.h"

namespace servetwin {
namespace {

void add(Samples& samples, const RequestRow& row, Latency latency) {
  if (const auto& value = row.latency(latency)) samples.add(value->count());
}

}  // namespace

std::string scenario_text(const ServedCase& one) {
  return "apiVersion: servetwin/v1\nkind: Scenario\nmetadata: {name: " + one.name +
         "}\nspec:\n  model: " + one.model + "\n  device: " + one.device + "\n  layout: " + one.layout +
         "\n  engine: {" + one.engine + "}\n  workload: {" + one.workload + "}\n  cost: {" + one.cost +
         "}\n" + one.others;
}

void ServedLatencies::merge(const ServedLatencies& other) {
  ttft.merge(other.ttft);
  tpot.merge(other.tpot);
  e2e.merge(other.e2e);
  outputs += other.outputs;
  requests += other.requests;
  seconds += other.seconds;
}

ServedLatencies simulate_case(const ServedCase& one, const std::vector<std::string>& set, std::int64_t seed) {
  ScenarioOverrides overrides;
  overrides.set = set;
  overrides.set.push_back("seed=" + std::to_string(seed));
  const Scenario scenario = parse_scenario(scenario_text(one), one.name, overrides);
  RowCollector rows(scenario.spec().front_end.per_output);
  RunOptions options;
  options.observers.push_back(&rows);
  const RunResult result = run_scenario(scenario, options);
  if (result.state == RunState::kStalled) {
    throw ConfigError(Problem{kCodeInconsistent, {one.name, 0, 0}, "", "the run stalls", ""});
  }
  ServedLatencies latencies;
  for (const RequestRow& row : rows.take()) {
    if (!row.measured || !row.finished()) continue;
    add(latencies.ttft, row, Latency::kTtft);
    add(latencies.tpot, row, Latency::kTpot);
    add(latencies.e2e, row, Latency::kE2e);
    latencies.outputs += row.outputs.value;
    ++latencies.requests;
  }
  latencies.seconds = result.report.makespan_s;
  return latencies;
}

ServedLatencies simulate_case_often(const ServedCase& one, const std::vector<std::string>& set, int seeds) {
  ServedLatencies all;
  for (int seed = 1; seed <= seeds; ++seed) all.merge(simulate_case(one, set, seed));
  return all;
}

CaseFile::CaseFile(const std::string& text, const std::string& extension) {
  static std::atomic<int> count{0};
  const std::string name =
      "servetwin-" + std::to_string(::getpid()) + '-' + std::to_string(++count) + extension;
  path_ = (std::filesystem::temp_directory_path() / name).string();
  write_file(path_, text);
}

CaseFile::~CaseFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

double ms(const std::optional<double>& ns) { return ns.value_or(0) / 1e6; }

}  // namespace servetwin
