// If these fail, a scenario file is read as something else than it says, or its values lose their origin.
#include "scenarios/scenario.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/config_tree.h"
#include "tests/support/catch.h"

namespace servetwin::scenario_test {
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

TEST_CASE("a preset's settings and the model's length are defaults with their own origin") {
  const Scenario scenario = with({"engine.preset=vllm-v1-async"});
  CHECK(origin_of(scenario, "spec.engine.in_flight.depth") == "2 | preset");
  CHECK(origin_of(scenario, "spec.engine.in_flight.speculate_outputs") == "true | preset");
  CHECK(scenario.spec().engine.in_flight.depth == 2);
  CHECK(origin_of(scenario, "spec.engine.max_model_len") == "131072 | model");
  const Scenario sync =
      with({"engine.preset=vllm-v1-async", "engine.in_flight={depth: 1, speculate_outputs: false}"});
  CHECK(origin_of(sync, "spec.engine.in_flight.depth") == "1 | command line");
}

TEST_CASE("the command line wins over the file, and a later override over an earlier one") {
  CHECK(with({"engine.num_blocks=5", "engine.num_blocks=7"}).spec().engine.num_blocks == Blocks{7});
  CHECK(with({"spec.seed=9"}).spec().seed == 9);
  CHECK(with({"metadata.name=other"}).document.metadata.name == "other");
  CHECK(with({"engine.in_flight={depth: 4}"}).spec().engine.in_flight.depth == 4);
  const Scenario listed = with({"engine.graph_sizes=[1, 2, 4]", "engine.graph_sizes[2]=8"});
  CHECK(listed.spec().engine.config.graph_sizes == std::vector<std::int64_t>{1, 2, 8});
  CHECK(with({"engine.max_num_seqs=null"}).spec().engine.config.max_num_seqs == 256);
}

TEST_CASE("an override that is no assignment is refused") {
  for (const char* bad :
       {"engine", "=1", "engine..preset=x", "engine.=x", "seed[0]=1", "engine.graph_sizes[x]=1"}) {
    CAPTURE(bad);
    CHECK(errors_with(bad).find("[CFG018]") != std::string::npos);
  }
  CHECK(errors_with("engine.graph_sizes[3]=1").find("[CFG018]") != std::string::npos);
}

TEST_CASE("what is wrong with an override is said as it was written, with what to write") {
  struct Row {
    const char* assignment;
    const char* error;
  };
  const std::string form = " (write --set key.path=value, for example --set engine.max_num_seqs=64) [CFG018]";
  const Row rows[] = {
      {"", "--set '': is empty"},
      {"  ", "--set   : is empty"},
      {"engine", "--set engine: has no value"},
      {"=1", "--set =1: has no key before the ="},
      {"engine..preset=x", "--set engine..preset=x: the key has an empty part: a dot too many"},
      {".seed=1", "--set .seed=1: the key has an empty part: a dot too many"},
  };
  for (const Row& row : rows) CHECK(errors_with(row.assignment) == row.error + form);
  CHECK(errors_with("seed=") ==
        "--set seed=: has no value after the = (write one, or seed=null for the "
        "default, as if the key were not there) [CFG018]");
  CHECK(errors_with("workload.classes.0.weight=3") ==
        "--set workload.classes.0.weight=3: a key that is a number (an item of a list is written name[0]) "
        "[CFG018]");
  CHECK(errors_with("seed[0]=1") == "--set seed[0]=1: spec.seed is no list (leave out the index) [CFG018]");
  CHECK(errors_of(kMinimal, {{}, "trace:"}).find("names no file (write --workload trace:FILE)") !=
        std::string::npos);
}

TEST_CASE("a missing key says what to add, and never just anything") {
  CHECK(errors_with("workload=null")
            .find("spec.workload: must be given (add workload: The traffic: arrivals or "
                  "users, lengths and a duration; or trace:FILE) [CFG105]") != std::string::npos);
  for (const char* key : {"model", "device", "cost", "metadata.name"}) {
    CAPTURE(key);
    const std::string error = errors_with(std::string(key) + "=null");
    CHECK(error.find("must be given (add ") != std::string::npos);
    CHECK(error.find("anything") == std::string::npos);
  }
}

TEST_CASE("a workload of the command line replaces all but max_tokens") {
  std::string text = kMinimal;
  text.replace(text.find("{trace: t.csv, max_tokens: output}"), 34,
               "{arrivals: {process: poisson, rate: 1/s}, lengths: {table: azure-2023-code}, duration: 1s, "
               "max_tokens: 77}");
  const Scenario scenario = parse_scenario(text, "dir/s.yaml", {{}, "trace:other.csv"});
  REQUIRE(scenario.workload.trace.has_value());
  CHECK(scenario.workload.trace->file == "other.csv");
  CHECK(scenario.workload.traffic.max_tokens.text == "77");
  CHECK(errors_of(text, {{}, "other.csv"}).find("[CFG018]") != std::string::npos);
}

TEST_CASE("files are looked for beside the scenario, those of the command line in the working directory") {
  CHECK(with({}).workload.trace->file == "dir/t.csv");
  CHECK(with({"workload.trace=u.csv"}).workload.trace->file == "u.csv");
  const Scenario scenario = with({});
  CHECK(find_path(scenario.resolved, "spec.cost.durations")->text == "dir/d.csv");
}

TEST_CASE("a resolved scenario reads back as the same scenario") {
  const Scenario first =
      with({"engine.max_num_seqs=1_000", "run.warmup=60s", "slo.ttft=0.5s", "router={name: round_robin}"});
  const std::string written = write_scenario(first);
  const Scenario second = parse_scenario(written, "elsewhere/config.yaml");
  const std::string again = write_scenario(second);
  CHECK(again.substr(again.find('\n')) ==
        written.substr(written.find('\n')));  // the first line names the file
  CHECK(scenario_hash(first) == scenario_hash(second));
  CHECK(second.spec().engine.config.max_num_seqs == 1000);
  CHECK(second.spec().run.warmup == Duration{std::chrono::minutes(1)});
}

TEST_CASE("the hash changes with every value and not with the folder") {
  const std::string hash = scenario_hash(with({}));
  CHECK(hash.size() == 64);
  CHECK(hash == scenario_hash(parse_scenario(kMinimal, "other/place.yaml")));
  CHECK(hash == scenario_hash(with({"engine.block_size=16"})));
  CHECK(hash != scenario_hash(with({"seed=2"})));
  CHECK(hash != scenario_hash(with({"cost.durations=e.csv"})));
}

TEST_CASE("every published key is accepted") {
  const Scenario scenario = with(
      {"replicas=2", "layout={tp: 2, pp: 1}", "engine.max_num_seqs=8", "engine.max_num_batched_tokens=512",
       "engine.max_model_len=4096", "engine.block_size=32", "engine.prefix_caching=false",
       "engine.chunked_prefill=true", "engine.long_prefill_token_threshold=256", "engine.watermark=0.01",
       "engine.in_flight={depth: 2, speculate_outputs: true}", "engine.rules={waiting_order: priority}",
       "router=least_outstanding", "slo={ttft: 500ms, tpot: 50ms, itl: 50ms, e2e: 10s}",
       "front_end={servers: 2, per_request: 1ms}", "run={warmup: 1min, measure: 1h, drain: 5min}",
       "initial={kv_cache: cold}", "seed=3"});
  CHECK(scenario.spec().engine.rules.waiting_order == "priority");
  CHECK(scenario.spec().slo.itl == Duration{std::chrono::milliseconds(50)});
}

TEST_CASE("a list of the resolved values has each path once") {
  std::vector<std::string> paths;
  for (const ResolvedValue& value : resolved_values(with({}).resolved)) paths.push_back(value.path);
  std::sort(paths.begin(), paths.end());
  CHECK(std::adjacent_find(paths.begin(), paths.end()) == paths.end());
  CHECK(paths.size() > 40);
}

}  // namespace
}  // namespace servetwin::scenario_test
