// If these fail, scripts cannot trust what compare prints, writes and exits with, or finished runs are
// misread.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::compare_test {
namespace {

// Eight seeds of two seconds in which prompts of 1,000 tokens come faster than small steps can compute them.
void write_comparison(const Playground& ground) {
  ground.write("c.yaml",
               "apiVersion: servetwin/v1\n"
               "kind: Comparison\n"
               "metadata: {name: steps}\n"
               "spec:\n"
               "  base:\n"
               "    model: meta-llama/Llama-3.1-8B\n"
               "    device: h100-sxm\n"
               "    engine: {num_blocks: 4000, max_num_batched_tokens: 2048, max_model_len: 2048}\n"
               "    workload:\n"
               "      arrivals: {process: poisson, rate: 30/s}\n"
               "      lengths: {input: 1000, output: {distribution: uniform, low: 2, high: 9}}\n"
               "      duration: 2s\n"
               "    cost: {model: linear, base: 10ms, per_token_ns: 1000, per_context_ns: 0}\n"
               "  seeds: 8\n"
               "  judge: [e2e.mean]\n"
               "  variants:\n"
               "    - {name: large}\n"
               "    - {name: small, set: {engine.max_num_batched_tokens: 256}}\n"
               "    - {name: equal, set: {engine.max_num_seqs: 257}}\n");
}

nlohmann::json json_of(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

TEST_CASE("compare answers in a sentence and a table, and --json and --csv hold the same") {
  const Playground ground;
  write_comparison(ground);
  const Outcome text = ground.run("$S compare c.yaml");
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(contains(text.out, "nothing is shown to be better than large in E2E mean. Worse than large: small"));
  CHECK(contains(text.out, "No difference at all from large: equal\n\n"));
  CHECK(contains(text.out, "durations of steps: "));
  CHECK_FALSE(contains(text.out, "\x1b"));
  CHECK_FALSE(contains(text.out, " \n"));
  const auto json = json_of(ground.run("$S compare c.yaml --json").out);
  REQUIRE(json.is_object());
  CHECK(json["schema_version"] == 1);
  CHECK(json["complete"] == true);
  CHECK(contains(text.out, json["verdict"].get<std::string>()));
  CHECK(json["runs"].size() == 24);
  CHECK(json["runs"][0]["digests"]["timeline"].get<std::string>().size() == 16);
  const auto& small = json["variants"][1]["groups"][0]["measures"]["e2e.mean"];
  CHECK(small["finding"] == "worse");
  CHECK(small["low"].get<double>() > 0);
  CHECK(json["regressions"] == nlohmann::json::parse(R"([{"variant": "small", "measure": "e2e.mean"}])"));
  const std::string csv = ground.run("$S compare c.yaml --csv").out;
  CHECK(contains(csv, "\nsmall,all,e2e.mean,ms,less,8,"));
  CHECK(contains(csv, "\nequal,prompt q1,") == false);
  CHECK(contains(csv, "\nequal,output q1,e2e.mean,ms,less,8,"));
}

TEST_CASE("--threads changes no byte, and --out writes what is printed") {
  const Playground ground;
  write_comparison(ground);
  const Outcome one = ground.run("$S compare c.yaml --threads 1 --json --out a");
  CHECK(one.code == 0);
  CHECK(ground.run("$S compare c.yaml --threads 3 --json --out b").out == one.out);
  CHECK(ground.read("a/comparison.json") == one.out);
  CHECK(ground.run("cmp a/comparison.csv b/comparison.csv").code == 0);
  const Outcome again = ground.run("$S compare c.yaml --out a");
  CHECK(again.code == 2);
  CHECK(contains(again.err, "[CFG301]"));
  CHECK(ground.run("$S compare c.yaml --out a --force").code == 0);
}

TEST_CASE("--fail-on regression is exit code 1 when a variant is shown to be worse, and names it") {
  const Playground ground;
  write_comparison(ground);
  const Outcome failed = ground.run("$S compare c.yaml --fail-on regression");
  CHECK(failed.code == 1);
  CHECK(failed.err.find("verdict: small: E2E mean +") == 0);
  CHECK(ground.run("$S compare c.yaml --fail-on regression --baseline small").code == 0);
  const Outcome few = ground.run("$S compare c.yaml --fail-on regression --seeds 6");
  CHECK(few.code == 2);
  CHECK(contains(few.err, "needs 7 seeds, there are 6"));
  CHECK(ground.run("$S compare c.yaml --fail-on slo").code == 2);
}

TEST_CASE("a variant in which nothing can go on is told of, and is a regression") {
  const Playground ground;
  write_comparison(ground);
  const std::string stalled =
      "$S compare c.yaml --set engine.max_num_seqs=4 --set engine.num_blocks=40 --set "
      "workload.lengths.input=16 "
      "--set workload.lengths.output=700 --set workload.arrivals.rate=1/s";
  const Outcome outcome = ground.run(stalled);
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.out, "Stalled in some run, its requests never end: "));
  CHECK(ground.run(stalled + " --fail-on regression").code == 1);
}

TEST_CASE("the answer of a small comparison is this text, whatever the locale") {
  const Playground ground;
  write_comparison(ground);
  const std::string golden = ground.run("cat '" SERVETWIN_SOURCE_DIR "/tests/cli/compare_answer.txt'").out;
  CHECK(ground.run("$S compare c.yaml").out == golden);
  CHECK(ground.run("LC_ALL=de_DE.UTF-8 TERM=xterm $S compare c.yaml --threads 1").out == golden);
}

TEST_CASE("finished runs are compared from their files as the scenarios themselves are") {
  const Playground ground;
  write_tiny(ground);
  const std::string slow = " --set engine.max_num_batched_tokens=1024";
  CHECK(ground.run("$S simulate tiny.yaml --out a && $S simulate tiny.yaml --out b" + slow).code == 0);
  const Outcome folders = ground.run("$S compare a b --json");
  CHECK(folders.code == 0);
  auto from_files = json_of(folders.out);
  auto simulated = json_of(ground
                               .run("$S compare tiny.yaml --vary engine.max_num_batched_tokens=2048,1024 "
                                    "--seeds 1 --json")
                               .out);
  REQUIRE(from_files.is_object());
  REQUIRE(simulated.is_object());
  CHECK(from_files["runs"][1]["digests"] == simulated["runs"][1]["digests"]);
  CHECK(from_files["runs"][1]["scenario_sha256"] == simulated["runs"][1]["scenario_sha256"]);
  CHECK(from_files["runs"][1]["evidence"] == simulated["runs"][1]["evidence"]);
  const auto& groups = from_files["variants"][1]["groups"];
  REQUIRE(groups.size() > 1);
  CHECK(groups == simulated["variants"][1]["groups"]);
  CHECK(from_files["variants"][1]["held_back"] == simulated["variants"][1]["held_back"]);
}

TEST_CASE("runs of other requests are refused, and the first that differs is named") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out a").code == 0);
  ground.run("sed -i 's/^0.005000,200,2/0.005000,201,2/' trace.csv");
  CHECK(ground.run("$S simulate tiny.yaml --out b").code == 0);
  const Outcome outcome = ground.run("$S compare a b");
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "request 1, prompt_tokens 200 there and 201 here"));
  CHECK(contains(outcome.err, "[CMP001]"));
  ground.run("cp -r a cut && sed -i '$d' cut/requests.csv");
  CHECK(contains(ground.run("$S compare a cut").err, "requests, and summary.json another number"));
}

TEST_CASE("a run's folder that was changed is refused, or read as far as it makes sense") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out a && cp -r a b").code == 0);
  nlohmann::json summary = nlohmann::json::parse(ground.read("b/summary.json"));
  summary["provenance"]["evidence"] = 5;
  summary["provenance"]["seed"] = 1e300;
  ground.write("b/summary.json", summary.dump());
  CHECK(ground.run("$S compare a b").code == 0);
  ground.run("rm b/requests.csv && mkdir c");
  for (const char* folder : {"b", "c"}) {
    const Outcome outcome = ground.run(std::string("$S compare a ") + folder);
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.err, "is not there"));
    CHECK(contains(outcome.err, "[CFG302]"));
  }
  CHECK(ground.run("$S compare a a --threads 1").code == 2);
}

TEST_CASE("variants that measure other requests of the same run are refused") {
  const Playground ground;
  write_tiny(ground);
  const Outcome outcome = ground.run("$S compare tiny.yaml --vary run.warmup=0s,4ms --seeds 1");
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, "measured yes there and no here"));
}

TEST_CASE("what is no complete run, or no sensible command line, is exit code 2") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out a && cp -r a b").code == 0);
  ground.run("sed -i 's/\"state\": \"complete\"/\"state\": \"interrupted\"/' b/summary.json; mkdir empty");
  CHECK(contains(ground.run("$S compare a b").err, "[CMP004]"));
  ground.run("cp a/summary.json b; sed -i '2s/^[0-9]*/x/' b/requests.csv");
  const Outcome damaged = ground.run("$S compare a b");
  CHECK(damaged.code == 2);
  CHECK(contains(damaged.err, "b/requests.csv:2: id is no number"));
  for (const char* words :
       {"a", "a tiny.yaml", "a empty", "a b --seeds 3", "a a --vary engine.max_num_seqs=1,2", "tiny.yaml", "",
        "quickstart preemption --threads 0", "quickstart preemption --judge ttft", "policie"}) {
    CAPTURE(words);
    const Outcome outcome = ground.run("$S compare " + std::string(words));
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
  }
}

TEST_CASE("a comparison that is interrupted prints what was whole, marked incomplete") {
  const Playground ground;
  const Outcome outcome = ground.run(
      "$S compare quickstart --vary engine.max_num_seqs=64,256 --set workload.duration=100h --threads 2 "
      "--out r "
      "& pid=$!; sleep 1; kill -TERM $pid; wait $pid");
  CHECK(outcome.code == 143);
  CHECK(contains(outcome.err, "incomplete"));
  CHECK(json_of(ground.read("r/comparison.json"))["complete"] == false);
}

TEST_CASE("validate, list and config know comparisons") {
  const Playground ground;
  write_comparison(ground);
  CHECK(ground.run("$S validate c.yaml").out == "c.yaml: ok, 3 variants, 8 seeds\n");
  CHECK(json_of(ground.run("$S validate c.yaml --json").out)[0]["variants"] == 3);
  CHECK(contains(ground.run("$S list comparisons").out, "policies"));
  CHECK(contains(ground.run("$S list measures").out, "ttft.p99"));
  CHECK(json_of(ground.run("$S config schema comparison").out)["title"] == "ServeTwin comparison");
  const Outcome simulated = ground.run("$S simulate c.yaml");
  CHECK(simulated.code == 2);
  CHECK(contains(simulated.err, "servetwin compare c.yaml"));
}

}  // namespace
}  // namespace servetwin::test::compare_test
