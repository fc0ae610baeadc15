// If these fail, a live run as a user starts it leaves other files than a simulated one, or its journal
// proves nothing.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::live_test {
namespace {

constexpr const char* kFewer = " --set workload.num_requests=30 ";

TEST_CASE("live writes the files of simulate, and replay and parity confirm its journal") {
  const Playground ground;
  const Outcome live = ground.run(std::string("$S live tiny-live --out r --tokens --json") + kFewer);
  CHECK(live.code == 0);
  const auto summary = nlohmann::json::parse(live.out);
  CHECK(summary.dump().find("\"measured\"") != std::string::npos);
  for (const char* file : {"config.yaml", "summary.json", "requests.csv", "timeline.json", "metrics.prom",
                           "journal.jsonl.zst", "tokens.jsonl"}) {
    CAPTURE(file);
    CHECK(ground.has(std::string("r/") + file));
  }
  const Outcome replay = ground.run("$S replay r");
  CHECK(replay.code == 0);
  CHECK(contains(replay.out, summary["digests"]["decisions"].get<std::string>()));
  CHECK_FALSE(contains(replay.out, "different"));
  // explain tells of the live run, not of a simulation of its scenario.
  for (const char* what : {"request 3", "step 5"}) {
    const Outcome explained = ground.run(std::string("$S explain r ") + what);
    CHECK(explained.code == 0);
    CHECK(contains(explained.out, "replayed, every step by itself: same decisions"));
    CHECK(contains(explained.out, summary["digests"]["timeline"].get<std::string>()));
  }
  const Outcome parity = ground.run("$S parity r");
  CHECK(parity.code == 0);
  CHECK(contains(parity.out, "steps are equal"));
  CHECK_FALSE(contains(parity.out, "different"));
}

TEST_CASE(
    "a simulated journal has parity too, and diff names where a slower simulation parts from a live run") {
  const Playground ground;
  CHECK(
      ground.run(std::string("$S simulate tiny-live --journal --out s --set cost.base=20ms") + kFewer).code ==
      0);
  CHECK(ground.run("$S parity s").code == 0);
  CHECK(ground.run(std::string("$S live tiny-live --out r") + kFewer).code == 0);
  const Outcome diff = ground.run("$S diff r s");
  CHECK(diff.code == 1);
  CHECK(contains(diff.out, "step"));
}

TEST_CASE("a live run that is stopped says so, and what it did until then replays") {
  const Playground ground;
  const Outcome stopped = ground.run(
      "timeout --foreground --preserve-status -s INT 2 $S live tiny-live --set workload.num_requests=100000 "
      "--out r");
  CHECK(stopped.code == 130);
  CHECK(contains(ground.read("r/summary.json"), "\"complete\": false"));
  CHECK(ground.run("$S replay r").code == 0);
  CHECK(ground.run("$S parity r").code == 0);
}

TEST_CASE("without a KV cache a live run says the same, and both runs say what the cache saves") {
  const Playground ground;
  // One at a time, so that both runs make the same steps.
  const std::string run = std::string("$S live tiny-live --tokens --set engine.max_num_seqs=1 ") +
                          "--set workload.cancellations=null --set workload.timeouts=null" + kFewer;
  const Outcome with = ground.run(run + " --out r");
  CHECK(with.code == 0);
  const Outcome without = ground.run(run + " --out s --kv-cache none");
  CHECK(without.code == 0);
  CHECK(ground.read("s/tokens.jsonl") == ground.read("r/tokens.jsonl"));
  const auto figures = [](const Outcome& outcome) {
    const std::size_t at = outcome.out.find("with a KV cache, ");
    return at == std::string::npos ? "" : outcome.out.substr(at, outcome.out.find('\n', at) - at);
  };
  CHECK(contains(figures(with), " without"));
  CHECK(figures(with) == figures(without));
  CHECK(contains(ground.read("s/summary.json"), "each computes whole sequences"));
  CHECK(ground.run("$S replay s").code == 0);
  CHECK(ground.run("$S live tiny-live --out t --kv-cache f16").code == 2);
}

TEST_CASE("cores are given out as stated, and lists of cores that are none are refused") {
  const Playground ground;
  const Outcome live = ground.run(std::string("$S live tiny-live --out r --cpus 0") + kFewer);
  CHECK(live.code == 0);
  CHECK(contains(live.err, "threads: compute on core 0, one each; all others on 0\n"));
  for (const char* list : {"x", "0,0", "1-0", "100000", "0-", ","}) {
    CAPTURE(list);
    const Outcome refused = ground.run(std::string("$S live tiny-live --out s --cpus ") + list + kFewer);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "--cpus takes cores such as 0-2,4"));
  }
  const Outcome few = ground.run(std::string("$S live tiny-live --out s --threads 2 --cpus 0") + kFewer);
  CHECK(few.code == 2);
  CHECK(contains(few.err, "2 compute threads need a core each, and --cpus 0 has 1"));
}

TEST_CASE("a live run on ranks says what each holds and what was sent, and has parity") {
  const Playground ground;
  const std::string share =
      "each of 2 ranks: 2 of 4 heads, 1 of 2 KV heads, 64 of 128 feed-forward columns, 256 of 512 tokens of "
      "the "
      "vocabulary; weights ";
  for (const std::string more : {"", " --sequence-parallel"}) {
    const Outcome live = ground.run("$S live tiny-live --force --out r --set layout.tp=2" + more + kFewer);
    INFO(live.err + live.out);
    CHECK(live.code == 0);
    CHECK(contains(live.err, share));
    CHECK(contains(live.out, more.empty() ? " all-reduces of " : " reduce-scatters of "));
    CHECK(contains(live.out, "as the formulas say\n"));
    CHECK(contains(ground.read("r/summary.json"), "2 tensor-parallel ranks of 1 thread a replica"));
    CHECK(ground.run("$S replay r").code == 0);
    CHECK(ground.run("$S parity r").code == 0);
  }
  CHECK(contains(ground.run("$S validate tiny-live --set layout.tp=2").out, share));
  CHECK(contains(ground.run("$S config show --resolved tiny-live --set layout.tp=2").out, share));
  const Outcome experts = ground.run("$S live tiny-live --out s --set layout.tp=2 --expert-parallel");
  CHECK(experts.code == 2);
  CHECK(contains(experts.err, "expert parallelism is asked for, and the model has no experts"));
}

TEST_CASE("what cannot run live is refused by name, all of it at once") {
  const Playground ground;
  const Outcome outcome = ground.run(
      "$S live quickstart --set model=mistralai/Mixtral-8x7B-Instruct-v0.1 --set layout.tp=2 --set "
      "replicas=1 --set engine.kv_dtype=mxfp4");
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, "CFG401"));
  CHECK(contains(outcome.err, "spec.model"));
  CHECK(contains(outcome.err, "a live cache does not hold mxfp4"));
  CHECK(contains(outcome.err, "--set engine.kv_dtype=mxfp4: spec.engine.kv_dtype"));
  CHECK(contains(ground.run("$S live quickstart").err, "quickstart.yaml:16:10: spec.model"));
  const Outcome alone = ground.run("$S live tiny-live --sequence-parallel");
  CHECK(alone.code == 2);
  CHECK(contains(alone.err, "spec.layout.tp: one rank has nobody to share tokens or experts with"));
  CHECK(ground.run("$S live tiny-live --threads many").code == 2);
  CHECK(ground.run("$S live tiny-live --temperature -1").code == 2);
}

}  // namespace
}  // namespace servetwin::test::live_test
