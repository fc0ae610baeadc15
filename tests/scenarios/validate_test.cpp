// If these fail, a scenario that cannot be meant is simulated, or only the first of its faults is reported.
#include "scenarios/validate.h"

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "tests/support/catch.h"

namespace servetwin::validate_test {
namespace {

const char* const kText = R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: s}
spec:
  model: meta-llama/Llama-3.1-8B
  device: h100-sxm
  engine: {num_blocks: 1000}
  workload: {arrivals: {process: poisson, rate: 9/s}, lengths: {table: azure-2023-code}, duration: 1min}
  cost: {model: analytic}
)";

std::vector<Problem> problems_of(std::vector<std::string> assignments, const std::string& text = kText) {
  try {
    parse_scenario(text, "s.yaml", {std::move(assignments), {}});
  } catch (const ConfigError& error) {
    return error.problems();
  }
  return {};
}

// "code path" of the only problem.
std::string problem_with(const std::string& assignment) {
  const std::vector<Problem> problems = problems_of({assignment});
  if (problems.size() != 1) return std::to_string(problems.size()) + " problems";
  CHECK_FALSE(problems.front().message.empty());
  return problems.front().code + ' ' + problems.front().path;
}

TEST_CASE("requests that pause for slow readers need the size of a token") {
  const std::string readers = "workload.slow_readers={share: 0.1, rate: 1kB/s}";
  CHECK(problems_of({readers}).empty());
  CHECK(problems_of({"front_end={slow_reader: pause}"}).empty());  // nobody reads slowly
  const auto problems = problems_of({readers, "front_end={slow_reader: pause}"});
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code + ' ' + problems.front().path == "CFG202 spec.front_end");
  CHECK(problems_of({readers, "front_end={slow_reader: pause, bytes_per_token: 120B}"}).empty());
}

TEST_CASE("the scenario these tests change is sound") { CHECK(problems_of({}).empty()); }

TEST_CASE("numbers are decimal, finite and in range") {
  struct Row {
    const char* assignment;
    const char* problem;
  };
  const Row rows[] = {
      {"replicas=-1", "CFG104 spec.replicas"},
      {"replicas=0", "CFG104 spec.replicas"},
      {"replicas=1000000000", "CFG104 spec.replicas"},
      {"replicas=99999999999999999999", "CFG103 spec.replicas"},
      {"replicas=0x10", "CFG103 spec.replicas"},
      {"replicas=0o10", "CFG103 spec.replicas"},
      {"replicas=1.5", "CFG103 spec.replicas"},
      {"replicas=\"2\"", "CFG102 spec.replicas"},
      {"engine.watermark=.nan", "CFG103 spec.engine.watermark"},
      {"engine.watermark=.inf", "CFG103 spec.engine.watermark"},
      {"engine.watermark=1e400", "CFG103 spec.engine.watermark"},
      {"engine.watermark=1e-400", "CFG103 spec.engine.watermark"},
      {"engine.watermark=-0.1", "CFG104 spec.engine.watermark"},
      {"engine.num_blocks=0", "CFG104 spec.engine.num_blocks"},
      {"engine.block_size=0", "CFG104 spec.engine.block_size"},
      {"engine.prefix_caching=yes", "CFG103 spec.engine.prefix_caching"},
      {"engine.prefix_caching=1", "CFG103 spec.engine.prefix_caching"},
      {"engine.prefix_caching=True", "CFG103 spec.engine.prefix_caching"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.assignment);
    CHECK(problem_with(row.assignment) == row.problem);
  }
}

TEST_CASE("grouped digits and exponents are whole numbers where they are, and 010 is refused") {
  for (const char* text : {"1_000", "1e3", "1000", "1000.0"}) {
    CAPTURE(text);
    const Scenario scenario =
        parse_scenario(kText, "s.yaml", {{std::string("engine.max_num_seqs=") + text}, {}});
    CHECK(scenario.spec().engine.config.max_num_seqs == 1000);
  }
  CHECK(problem_with("engine.max_num_seqs=010") == "CFG103 spec.engine.max_num_seqs");
}

TEST_CASE("a name that would leave the folder of results is refused, and so is a pool beyond the index") {
  CHECK(problem_with("metadata.name=../../x") == "CFG103 metadata.name");
  CHECK(problem_with("metadata.name=.hidden") == "CFG103 metadata.name");
  CHECK(problem_with("engine.num_blocks=2147483647") == "CFG104 spec.engine.num_blocks");
}

TEST_CASE("units are required, exact in case, and the likely meaning is offered") {
  CHECK(problem_with("slo.ttft=500") == "CFG103 spec.slo.ttft");
  CHECK(problem_with("slo.ttft=500 MS") == "CFG103 spec.slo.ttft");
  CHECK(problem_with("engine.memory.context=1Gb") == "CFG103 spec.engine.memory.context");
  CHECK(problem_with("slo.ttft=0s") == "CFG104 spec.slo.ttft");
  CHECK(problem_with("slo.ttft=-5ms") == "CFG104 spec.slo.ttft");
  CHECK(problems_of({"slo.ttft=500"}).front().remedy.find("500ms") != std::string::npos);
  const Scenario binary = parse_scenario(kText, "s.yaml", {{"engine.memory.context=1GiB"}, {}});
  const Scenario decimal = parse_scenario(kText, "s.yaml", {{"engine.memory.context=1GB"}, {}});
  CHECK(*binary.spec().engine.memory.context == Bytes{std::int64_t{1} << 30});
  CHECK(*decimal.spec().engine.memory.context == Bytes{1'000'000'000});
}

TEST_CASE("a layout that the model cannot be split over is refused") {
  CHECK(problem_with("layout.tp=3") == "CFG203 spec.layout.tp");
  CHECK(problem_with("layout.pp=2") == "CFG203 spec.layout.pp");
  CHECK(problem_with("layout.tp=8") == "0 problems");
}

TEST_CASE("more devices than any cluster has are refused") {
  CHECK(problems_of({"replicas=4096", "layout.tp=32"}).front().code == "CFG202");
}

TEST_CASE("exactly one statement of the KV capacity is due") {
  CHECK(problem_with("engine.num_blocks=null") == "CFG201 spec.engine");
  CHECK(problem_with("engine.memory_fraction=0.9") == "CFG201 spec.engine.memory_fraction");
  CHECK(problems_of({"engine.num_blocks=null", "engine.memory_fraction=0.9"}).empty());
  CHECK(problem_with("engine.memory_fraction=1.5") == "CFG104 spec.engine.memory_fraction");
}

TEST_CASE("a context that the memory can never hold is refused with both numbers") {
  const std::vector<Problem> problems =
      problems_of({"engine.num_blocks=null", "engine.memory_fraction=0.9", "engine.max_model_len=29000",
                   "engine.memory={weights: 60GiB, activations: 4GiB, context: 0B, graphs: 0B}"});
  const std::vector<Problem> small =
      problems_of({"engine.num_blocks=null", "engine.memory_fraction=0.9", "engine.max_model_len=131072",
                   "engine.memory={weights: 60GiB, activations: 4GiB, context: 0B, graphs: 0B}"});
  CHECK(problems.empty());
  REQUIRE(small.size() == 1);
  CHECK(small.front().path == "spec.engine.max_model_len");
  CHECK(small.front().message.find("131") != std::string::npos);
}

TEST_CASE("engines' three meanings of the memory fraction give their own block counts") {
  const auto blocks_of = [](const std::string& of) {
    const std::string memory =
        "engine.memory={of: " + of + ", weights: 16GiB, activations: 4GiB, context: 0B, graphs: 0B}";
    const Scenario scenario = parse_scenario(
        kText, "s.yaml", {{"engine.num_blocks=null", "engine.memory_fraction=0.9", memory}, {}});
    return scenario.num_blocks().value;
  };
  // Of the 81,091 MiB that an H100's driver reports, in blocks of 2 MiB.
  CHECK(blocks_of("total") == 26'250);
  CHECK(blocks_of("free") == 27'274);
  CHECK(blocks_of("static") == 28'298);
}

TEST_CASE("without chunked prefill a prompt must fit into one step") {
  CHECK(problem_with("engine.chunked_prefill=false") == "CFG202 spec.engine.max_num_batched_tokens");
  CHECK(problems_of({"engine.chunked_prefill=false", "engine.max_model_len=2048"}).empty());
}

TEST_CASE("a length above what the model supports is refused") {
  CHECK(problem_with("engine.max_model_len=200000") == "CFG203 spec.engine.max_model_len");
}

TEST_CASE("unknown names are refused with the nearest one") {
  CHECK(problem_with("model=meta-llama/Llama-3.1-8") == "CFG107 spec.model");
  CHECK(problem_with("device=h100-smx") == "CFG107 spec.device");
  CHECK(problem_with("cost={model: analytical}") == "CFG107 spec.cost.model");
  CHECK(problem_with("cost={model: analytic, durations: x.csv}") == "CFG101 spec.cost.durations");
  CHECK(problem_with("router=round_robbin") == "CFG107 spec.router");
  CHECK(problem_with("engine.preset=vllm") == "CFG107 spec.engine.preset");
  CHECK(problem_with("engine.rules.victim=oldest") == "CFG107 spec.engine.rules.victim");
  CHECK(problems_of({"device=h100-smx"}).front().remedy.find("h100-sxm") != std::string::npos);
}

TEST_CASE("what has no safe default must be given") {
  for (const char* key : {"model", "device", "workload", "cost"}) {
    CAPTURE(key);
    CHECK(problem_with(std::string(key) + "=null") == std::string("CFG105 spec.") + key);
  }
  CHECK(problem_with("metadata.name=null") == "CFG105 metadata.name");
  CHECK(problem_with("apiVersion=servetwin/v2") == "CFG103 apiVersion");
  CHECK(problem_with("kind=Sweep") == "CFG103 kind");
}

TEST_CASE("the workload's own faults are reported with the rest") {
  CHECK(problem_with("workload.lengths=null").substr(0, 6) == "CFG106");
  CHECK(problem_with("workload.durations=1s") == "CFG101 spec.workload.durations");
  const std::vector<Problem> problems =
      problems_of({"workload.duration=5", "replicas=0", "layout.tp=3", "engine.presett=x"});
  CHECK(problems.size() == 4);
}

}  // namespace
}  // namespace servetwin::validate_test
