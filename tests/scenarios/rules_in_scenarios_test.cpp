// If one of these fails, a scenario cannot choose a rule, or a rule runs without what it needs, or a report
// does not say that lengths were known.
#include <string>
#include <vector>

#include "engine/base/registry.h"
#include "engine/serving/preset.h"
#include "scenarios/assemble.h"
#include "scenarios/run.h"
#include "tests/support/catch.h"

namespace servetwin::rules_in_scenarios_test {
namespace {

RunResult run_with(const std::vector<std::string>& set) {
  std::vector<std::string> all = {"workload.duration=30s", "workload.arrivals.rate=9/s"};
  all.insert(all.end(), set.begin(), set.end());
  return run_scenario(load_scenario("preemption", {all, {}}));
}

std::string refusal(const std::vector<std::string>& set) {
  try {
    assemble(load_scenario("preemption", {set, {}}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a run whose predictor knew true lengths says so, and one that knew none does not") {
  const std::string order = "engine.rules.waiting_order=srtf";
  CHECK(run_with({order, "engine.rules.predictor=oracle"}).provenance.oracle);
  CHECK(run_with({order, "engine.rules.predictor=buckets"}).provenance.oracle);
  CHECK_FALSE(run_with({order, "engine.rules.predictor=constant"}).provenance.oracle);
}

TEST_CASE("a scenario's rule that lacks a predictor, an objective or an estimator is refused by name") {
  CHECK(refusal({"engine.rules.waiting_order=sjf"}).find("sjf needs predicted") != std::string::npos);
  CHECK(refusal({"slo=null", "engine.rules.waiting_order=edf"}).find("edf needs slo.ttft") !=
        std::string::npos);
  const std::string unknown = refusal({"engine.rules.predictor=psychic"});
  CHECK(unknown.find("spec.engine.rules.predictor") != std::string::npos);
  CHECK(refusal({"engine.rules.yield=allways"}).find("spec.engine.rules.yield") != std::string::npos);
}

TEST_CASE("what a scenario says of rules and nobody asks is refused, not ignored") {
  CHECK(refusal({"engine.rule_parameters={strf: {max_wait: 1s}}"}).find("strf") != std::string::npos);
  CHECK(refusal({"engine.rule_parameters={srtf: {max_wait: 1s}}"}).empty());
  CHECK(refusal({"engine.preset=tgi", "engine.rules.yield=by_order"}).find("nobody gives way") !=
        std::string::npos);
  for (const char* preset : {"trtllm-max-utilization", "llama-cpp"}) {
    const std::string engine = std::string("engine.preset=") + preset;
    CHECK(refusal({engine}).empty());
    CHECK(refusal({engine, "engine.rules.admission=conservative"}).find("ask no such rule") !=
          std::string::npos);
    CHECK(refusal({engine, "engine.rules.yield=by_order"}).find("let nobody give way") != std::string::npos);
    CHECK(refusal({engine, "engine.watermark=0.05"}).find("keeps no watermark") != std::string::npos);
    CHECK(refusal({engine, "engine.full_sequence_gate=false"}).find("has no such gate") != std::string::npos);
  }
  const std::string reserving = refusal({"engine.rules.admission=conservative", "engine.watermark=0.05"});
  CHECK(reserving.find("spec.engine.watermark: conservative keeps no watermark") != std::string::npos);
  CHECK(refusal({"engine.preset=vllm-v0", "engine.rules.admission=conservative"}).empty());
  CHECK(refusal({"engine.watermark=0.05"}).empty());
}

TEST_CASE("a rule that lacks something is refused with the line that chose it") {
  const std::string text = refusal({"engine.rules.waiting_order=sjf"});
  CHECK(text.find("preemption.yaml:") != std::string::npos);
}

TEST_CASE("a scenario of any preset reads back from what is written of it") {
  for (const std::string& preset : Registry<Preset>::instance().names()) {
    CAPTURE(preset);
    const std::string budget = "engine.max_num_batched_tokens=16384";
    const Scenario scenario = load_scenario("quickstart", {{"engine.preset=" + preset, budget}, {}});
    const Scenario again = parse_scenario(write_scenario(scenario), "again.yaml");
    CHECK(scenario_hash(scenario) == scenario_hash(again));
  }
}

TEST_CASE("rules that estimate step times take them from the scenario's cost model") {
  const RunResult laxity = run_with({"slo.ttft=1s", "engine.rules.waiting_order=least_laxity"});
  CHECK(laxity.report.measured.outcomes.injected > 100);
  const RunResult priced = run_with({"engine.host_blocks=4000", "engine.rules.pressure=priced"});
  const RunResult recompute = run_with({});
  CHECK(priced.report.usage.preemptions > 0);
  CHECK(priced.report.usage.swap_out_blocks > 0);
  CHECK(priced.report.measured.e2e.mean.value() <= recompute.report.measured.e2e.mean.value());
}

}  // namespace
}  // namespace servetwin::rules_in_scenarios_test
