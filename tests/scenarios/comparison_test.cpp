// If these fail, a comparison file means something else than it says, or a fault in it is not named where it
// is.
#include "scenarios/comparison.h"

#include <vector>

#include "scenarios/input_text.h"
#include "scenarios/scenario_files.h"
#include "tests/support/catch.h"

namespace servetwin::comparison_test {
namespace {

const char* const kHead = "apiVersion: servetwin/v1\nkind: Comparison\nmetadata: {name: c}\n";

std::vector<Problem> problems_of(const std::string& spec, const ComparisonOverrides& overrides = {}) {
  try {
    parse_comparison(kHead + spec, "c.yaml", overrides);
  } catch (const ConfigError& error) {
    return error.problems();
  }
  return {};
}

// "code line:column path" of the only problem.
std::string problem_in(const std::string& spec) {
  const std::vector<Problem> problems = problems_of(spec);
  if (problems.size() != 1) return std::to_string(problems.size()) + " problems";
  const Problem& one = problems.front();
  CHECK_FALSE(one.message.empty());
  return one.code + ' ' + std::to_string(one.place.line) + ':' + std::to_string(one.place.column) + ' ' +
         one.path;
}

ComparisonPlan plan_of(const std::string& spec, const ComparisonOverrides& overrides = {}) {
  return parse_comparison(kHead + spec, "c.yaml", overrides);
}

const std::string kTwo = "  variants:\n    - {name: a}\n    - {name: b, set: {engine.max_num_seqs: 7}}\n";

TEST_CASE("variants are the base with what each sets") {
  const ComparisonPlan plan =
      plan_of("spec:\n  base: quickstart\n  set: {engine: {max_num_seqs: 9}}\n  seeds: 3\n" + kTwo +
              "    - {name: c, scenario: preemption, set: {engine.rules: {admission: conservative}}}\n"
              "    - {name: d, preset: vllm-v1-priority}\n");
  REQUIRE(plan.variants.size() == 4);
  CHECK(plan.seeds == std::vector<std::int64_t>{1, 2, 3});
  CHECK(plan.baseline == 0);
  const auto spec = [&](std::size_t v) { return plan.variants[v].with_seed(5).spec(); };
  CHECK(spec(0).engine.config.max_num_seqs == 9);
  CHECK(spec(0).seed == 5);
  CHECK(spec(0).engine.config.max_num_batched_tokens == Tokens{2048});
  CHECK(spec(1).engine.config.max_num_seqs == 7);
  CHECK(spec(2).engine.rules.admission == "conservative");
  CHECK(spec(2).engine.rules.waiting_order == "fcfs");
  CHECK(spec(2).engine.num_blocks == Blocks{1200});
  CHECK(spec(3).engine.preset == "vllm-v1-priority");
}

TEST_CASE("the base may be the keys of a spec, and variants may give what it lacks") {
  const std::string base =
      "  base:\n    model: meta-llama/Llama-3.1-8B\n    device: h100-sxm\n    cost: {model: analytic}\n"
      "    workload: {arrivals: {process: constant, rate: 1/s}, lengths: {input: 9, output: 9}, duration: "
      "9s}\n";
  const ComparisonPlan plan = plan_of("spec:\n" + base +
                                      "  variants:\n    - {name: a, set: {engine.num_blocks: 100}}\n"
                                      "    - {name: b, set: {engine.num_blocks: 200}}\n");
  CHECK(plan.variants[1].with_seed(1).num_blocks() == Blocks{200});
  // A fault in it has its place in the comparison.
  CHECK(problem_in("spec:\n" + base + "    replicaz: 2\n" + "  set: {engine.num_blocks: 100}\n" + kTwo) ==
        "CFG101 10:15 spec.replicaz");
}

TEST_CASE("seeds are a number from the base's on, or a list") {
  const auto seeds = [](const std::string& text) {
    return plan_of("spec:\n  base: quickstart\n  set: {seed: 40}\n  seeds: " + text + "\n" + kTwo).seeds;
  };
  CHECK(seeds("2") == std::vector<std::int64_t>{40, 41});
  CHECK(seeds("[9, 3]") == std::vector<std::int64_t>{9, 3});
  CHECK(plan_of("spec:\n  base: quickstart\n" + kTwo).seeds.size() == 10);
  // Of 8 x 4 findings judged together none could be shown with 10.
  std::string many = kTwo;
  for (const char* name : {"c", "d", "e", "f", "g", "h", "i"})
    many += "    - {name: " + std::string(name) + "}\n";
  CHECK(plan_of("spec:\n  base: quickstart\n" + many).seeds.size() == 12);
  ComparisonOverrides overrides;
  overrides.seeds = "4,5";
  CHECK(plan_of("spec:\n  base: quickstart\n" + kTwo, overrides).seeds == std::vector<std::int64_t>{4, 5});
  for (const char* bad : {"0", "1001", "[]", "[1, 1]", "[-1]", "many", "\"3\"", "{a: 1}", "[1.5]"}) {
    CAPTURE(bad);
    const auto problems =
        problems_of("spec:\n  base: quickstart\n  seeds: " + std::string(bad) + "\n" + kTwo);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].path.rfind("spec.seeds", 0) == 0);
    CHECK(problems[0].place.line == 6);
  }
}

TEST_CASE("what is judged follows from the SLOs, or is said") {
  const auto judged = [](const std::string& text) {
    std::vector<std::string> names;
    for (const std::size_t m : plan_of("spec:\n" + text + kTwo).options.judged) {
      names.push_back(measures()[m].name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(judged("  base: quickstart\n") == Names{"good_share", "e2e.mean", "ttft.p99", "itl.p99"});
  CHECK(judged("  base: quickstart\n  set: {slo: {ttft: null, itl: null}}\n") ==
        Names{"e2e.mean", "ttft.p99", "itl.p99"});
  CHECK(judged("  base: quickstart\n  judge: [preemptions]\n") == Names{"preemptions"});
}

TEST_CASE("each fault of a comparison file is named at its place") {
  const std::string base = "spec:\n  base: quickstart\n";
  CHECK(problem_in(base + "  varients: []\n" + kTwo) == "CFG101 6:13 spec.varients");
  CHECK(problem_in(base) == "CFG105 5:3 spec.variants");
  CHECK(problem_in(base + "  seeds: 2\n  seeds: 3\n" + kTwo) == "CFG008 7:3 spec.seeds");
  CHECK(problem_in("spec:\n  base: quickstat\n" + kTwo) == "CFG001 5:9 spec.base");
  CHECK(problem_in("spec:\n" + kTwo) == "CFG105 6:7 spec.variants[0]");
  CHECK(problem_in(base + "  variants: [{name: a}]\n") == "CFG106 6:13 spec.variants");
  CHECK(problem_in(base + "  variants: [{name: a}, {name: a}]\n") == "CFG106 6:32 spec.variants[1].name");
  CHECK(problem_in(base + "  variants: [{name: a}, {nam: b}]\n") == "2 problems");
  CHECK(problem_in(base + "  baseline: c\n" + kTwo) == "CFG107 6:13 spec.baseline");
  CHECK(problem_in(base + "  judge: [ttft.p98]\n" + kTwo) == "CFG107 6:11 spec.judge[0]");
  CHECK(problem_in(base + "  judge: [kv_usage]\n" + kTwo) == "CFG107 6:11 spec.judge[0]");
  CHECK(problem_in(base + "  judge: [ttft.p99, ttft.p99]\n" + kTwo) == "CFG106 6:21 spec.judge[1]");
  CHECK(problem_in(base + "  variants: [{name: a}, {name: \"b\\nc\"}]\n") ==
        "CFG103 6:32 spec.variants[1].name");
  CHECK(problem_in(base + kTwo + "    - {name: d, set: {seed: 3}}\n") == "CFG106 9:22 spec.variants[2].set");
  CHECK(problem_in(base + "  set: {seed: 9223372036854775806}\n  seeds: 3\n" + kTwo) ==
        "CFG103 7:10 spec.seeds");
  CHECK(problem_in(base + "  confidence: 1\n" + kTwo) == "CFG104 6:15 spec.confidence");
  CHECK(problem_in(base + kTwo + "    - {name: d, set: 3}\n") == "CFG102 9:22 spec.variants[2].set");
  CHECK(problem_in(base + kTwo + "    - {name: d, set: {a..b: 3}}\n") ==
        "CFG018 9:29 spec.variants[2].set.a..b");
  CHECK(problem_in(base + kTwo + "    - {name: d, set: {engine.max_seqs: 3}}\n") ==
        "CFG101 9:40 spec.engine.max_seqs");
  CHECK(problem_in(base + kTwo + "    - {name: d, set: {engine.rules.admission: x}}\n") ==
        "CFG107 9:47 spec.engine.rules.admission");
}

TEST_CASE("a fault of a variant names the variant") {
  const auto problems =
      problems_of("spec:\n  base: quickstart\n" + kTwo + "    - {name: odd, set: {replicas: 0}}\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message.find("variant odd: ") == 0);
  CHECK(problems[0].code == "CFG104");
}

TEST_CASE("the command line makes variants of scenarios, of values and of their products") {
  ComparisonOverrides overrides;
  overrides.vary = {"engine.max_num_batched_tokens=512,2048", "engine.watermark=0,0.05"};
  overrides.set = {"workload.duration=10s"};
  const ComparisonPlan plan = plan_comparison({"quickstart"}, overrides);
  REQUIRE(plan.variants.size() == 4);
  CHECK(plan.variants[0].name == "engine.max_num_batched_tokens=512 engine.watermark=0");
  CHECK(plan.variants[3].name == "engine.max_num_batched_tokens=2048 engine.watermark=0.05");
  const ScenarioSpec spec = plan.variants[3].with_seed(1).spec();
  CHECK(spec.engine.config.max_num_batched_tokens == Tokens{2048});
  CHECK(spec.engine.config.watermark == 0.05);
  const ComparisonPlan two = plan_comparison({"quickstart", "preemption"}, {});
  CHECK(two.variants[1].name == "preemption");
  overrides.vary = {"engine.in_flight={depth: 1},{depth: 2}"};
  CHECK(plan_comparison({"quickstart"}, overrides).variants[1].with_seed(1).spec().engine.in_flight.depth ==
        2);
}

TEST_CASE("as many blocks of another size are said to be another memory") {
  ComparisonOverrides overrides;
  overrides.set = {"workload.duration=10s"};
  overrides.vary = {"engine.block_size=16,32"};
  CHECK(plan_comparison({"preemption"}, overrides).notes.size() == 1);
  CHECK(plan_comparison({"quickstart"}, overrides).notes.empty());
  overrides.vary = {"engine.num_blocks=900,1200"};
  CHECK(plan_comparison({"preemption"}, overrides).notes.empty());
}

TEST_CASE("a command line that compares nothing is refused") {
  const auto code = [](const std::vector<std::string>& words, const ComparisonOverrides& overrides) {
    try {
      plan_comparison(words, overrides);
    } catch (const ConfigError& error) {
      return error.problems().front().code;
    }
    return std::string("accepted");
  };
  ComparisonOverrides vary;
  CHECK(code({"quickstart"}, vary) == "CFG106");
  CHECK(code({"quickstart", "quickstart"}, vary) == "CFG106");
  for (const char* bad : {"engine.watermark", "engine.watermark=", "=1,2", ""}) {
    vary.vary = {bad};
    CHECK(code({"quickstart"}, vary) == "CFG018");
  }
  vary.vary = {"seed=1,2"};
  CHECK(code({"quickstart"}, vary) == "CFG106");
  vary.vary = {"engine.watermark=0,0.05", "engine.watermark=0.1"};
  CHECK(code({"quickstart"}, vary) == "CFG106");
  ComparisonOverrides baseline;
  baseline.baseline = "quickstar";
  CHECK(code({"quickstart", "preemption"}, baseline) == "CFG107");
  ComparisonOverrides judge;
  judge.judge = "ttft.p99,e2e";
  CHECK(code({"quickstart", "preemption"}, judge) == "CFG107");
}

TEST_CASE("a comparison is no scenario, and says which verb takes it") {
  CHECK(is_comparison("policies"));
  CHECK_FALSE(is_comparison("quickstart"));
  CHECK_FALSE(is_comparison("nothing"));
  CHECK(shipped_comparisons() == std::vector<std::string>{"engines", "policies"});
  try {
    load_scenario("policies");
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().remedy.find("servetwin compare") != std::string::npos);
  }
}

}  // namespace
}  // namespace servetwin::comparison_test
