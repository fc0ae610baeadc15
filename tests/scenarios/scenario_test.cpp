// If these fail, a scenario file is read as something else than it says, or its values lose their origin.
#include "scenarios/scenario.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "scenarios/config_tree.h"
#include "tests/support/catch.h"

namespace servetwin {
namespace {

const char* const kMinimal = R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: minimal}
spec:
  model: meta-llama/Llama-3.1-8B
  device: h100-sxm
  engine: {num_blocks: 1000}
  workload: {trace: t.csv, max_tokens: output}
  cost: {model: replay, durations: d.csv}
)";

std::string errors_of(const std::string& text, const ScenarioOverrides& overrides = {}) {
  try {
    parse_scenario(text, "dir/s.yaml", overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string errors_with(const std::string& assignment) { return errors_of(kMinimal, {{assignment}, {}}); }

Scenario with(std::vector<std::string> assignments) {
  return parse_scenario(kMinimal, "dir/s.yaml", {std::move(assignments), {}});
}

std::string origin_of(const Scenario& scenario, const std::string& path) {
  for (const ResolvedValue& value : resolved_values(scenario.resolved)) {
    if (value.path == path) return value.value + " | " + value.origin;
  }
  return "none";
}

TEST_CASE("the published scheduling cases are read") {
  const std::filesystem::path folder = std::filesystem::path(SERVETWIN_DATA_DIR) / "../cases/files/sched";
  if (!std::filesystem::exists(folder / "S01a.yaml")) {
    WARN("skipped: no cases beside " SERVETWIN_DATA_DIR);
    return;
  }
  const Scenario s01 = load_scenario((folder / "S01a.yaml").string());
  CHECK(s01.document.metadata.name == "s01a");
  CHECK(s01.spec().engine.num_blocks == Blocks{100'000});
  CHECK(s01.spec().engine.config.max_num_batched_tokens == Tokens{4096});
  CHECK_FALSE(s01.spec().engine.config.prefix_caching);
  CHECK(s01.spec().engine.in_flight.depth == 1);
  CHECK(s01.spec().seed == 1);
  for (const char* name : {"S01b", "S04_v1", "S11a", "S11b", "S11c", "S11d", "S11e"}) {
    CHECK_NOTHROW(load_scenario((folder / (std::string(name) + ".yaml")).string()));
  }
}

TEST_CASE("values have the origin they came from") {
  const Scenario scenario = with({"engine.max_num_seqs=64"});
  CHECK(origin_of(scenario, "spec.engine.num_blocks") == "1000 | dir/s.yaml:7");
  CHECK(origin_of(scenario, "spec.engine.max_num_seqs") == "64 | command line");
  CHECK(origin_of(scenario, "spec.engine.block_size") == "16 | default");
  CHECK(origin_of(scenario, "spec.seed") == "1 | default");
}

TEST_CASE("an unknown key is refused with its place and the nearest name") {
  std::string text = kMinimal;
  text.replace(text.find("num_blocks"), 10, "num_block");
  const std::string error = errors_of(text);
  CHECK(error.find("dir/s.yaml:7:23: spec.engine.num_block: unknown key") != std::string::npos);
  CHECK(error.find("did you mean num_blocks?") != std::string::npos);
  CHECK(errors_with("engine.presett=x").find("did you mean preset?") != std::string::npos);
}

}  // namespace
}  // namespace servetwin
