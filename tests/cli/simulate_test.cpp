// If these fail, scripts that call the program cannot trust its exit codes, its streams or its files.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::simulate_test {
namespace {

TEST_CASE("simulate answers on standard output alone and names the files it wrote") {
  const Playground ground;
  write_tiny(ground);
  const Outcome outcome = ground.run("$S simulate tiny.yaml --steps");
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  for (const char* file :
       {"config.yaml", "requests.csv", "steps.csv", "timeline.json", "metrics.prom", "summary.json"}) {
    CAPTURE(file);
    CHECK(contains(outcome.out, std::string("  runs/tiny/") + file + "\n"));
    CHECK(ground.has(std::string("runs/tiny/") + file));
  }
  CHECK_FALSE(ground.has("runs/tiny/journal.jsonl.zst"));
  CHECK_FALSE(contains(outcome.out, "\x1b"));
  CHECK(contains(outcome.out, "next: servetwin explain runs/tiny step 1\n"));
}

TEST_CASE("the answer of a tiny scenario is this text, in every locale and terminal") {
  const Playground ground;
  write_tiny(ground);
  const Outcome outcome = ground.run("$S simulate tiny.yaml --out r");
  const std::string golden = ground.run("cat '" SERVETWIN_SOURCE_DIR "/tests/cli/tiny_answer.txt'").out;
  CHECK(outcome.out == golden);
  const Outcome german =
      ground.run("LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo TERM=xterm $S simulate tiny.yaml --out r --force");
  CHECK(german.out == golden);
  const Outcome plain = ground.run("LC_ALL=C TERM=dumb NO_COLOR=1 $S simulate tiny.yaml --out r --force");
  CHECK(plain.out == golden);
}

TEST_CASE("the same run writes the same bytes") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --steps --itls --out a").code == 0);
  CHECK(ground.run("$S simulate tiny.yaml --journal --steps --itls --out b").code == 0);
  CHECK(ground.run("diff -r a b").code == 0);
}

TEST_CASE("with --json standard output is the summary and nothing else") {
  const Playground ground;
  write_tiny(ground);
  const Outcome outcome = ground.run("$S simulate tiny.yaml --json");
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["complete"] == true);
  CHECK(json["digests"]["decisions"].get<std::string>().size() == 16);
  CHECK(outcome.out == ground.read("runs/tiny/summary.json"));
}

TEST_CASE("an earlier run is replaced only with --force") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out r").code == 0);
  const std::string before = ground.read("r/summary.json");
  const Outcome again = ground.run("$S simulate tiny.yaml --out r --set seed=2");
  CHECK(again.code == 2);
  CHECK(again.out.empty());
  CHECK(contains(again.err, "--force"));
  CHECK(ground.read("r/summary.json") == before);
  CHECK(ground.run("$S simulate tiny.yaml --out r --set seed=2 --force").code == 0);
  CHECK(ground.read("r/summary.json") != before);
}

TEST_CASE("a missed SLO is exit code 1, but only when asked for") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --set slo.ttft=1s --fail-on slo").code == 0);
  CHECK(ground.run("$S simulate tiny.yaml --set slo.ttft=1ms --force").code == 0);
  const Outcome missed = ground.run("$S simulate tiny.yaml --set slo.ttft=1ms --fail-on slo --force");
  CHECK(missed.code == 1);
  CHECK(missed.err ==
        "verdict: class default: 3 of 3 requests did not meet TTFT ≤ 1ms (missed: TTFT by 3)\n");
  CHECK(ground.run("$S simulate tiny.yaml --fail-on x --force").code == 2);
}

TEST_CASE("a class that misses its own SLO is named, with what it was promised") {
  const Playground ground;
  write_tiny_classes(ground);
  const Outcome missed = ground.run("$S simulate classes.yaml --fail-on slo");
  CHECK(missed.code == 1);
  CHECK(missed.err ==
        "verdict: class chat: 1 of 2 requests did not meet TTFT ≤ 30ms and E2E ≤ 1s "
        "(missed: TTFT by 1)\n");
  CHECK(contains(missed.out,
                 "66.6 % of requests meet the SLO of their class, class chat the least: 50 % meet "
                 "TTFT ≤ 30ms and E2E ≤ 1s (missed: TTFT by 1); "));
  CHECK(contains(missed.out, "100 % meet TTFT ≤ 35ms and E2E ≤ 1s\n"));
  const std::string kept = " --set 'workload.classes[0].slo.ttft=35ms'";
  const Outcome met = ground.run("$S simulate classes.yaml --force --fail-on slo" + kept);
  CHECK(met.code == 0);
  CHECK(met.err.empty());
  const Outcome shown = ground.run("$S config show --resolved classes.yaml");
  CHECK(contains(shown.out, "spec.workload.classes[0].slo.ttft"));
  CHECK(contains(shown.out, "classes.yaml:6"));
}

TEST_CASE("bad input is exit code 2 and names file, line and remedy") {
  const Playground ground;
  ground.write("bad.yaml",
               "apiVersion: servetwin/v1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  modle: y\n");
  const Outcome outcome = ground.run("$S simulate bad.yaml");
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "bad.yaml:5"));
  CHECK(contains(outcome.err, "did you mean model?"));
  CHECK(ground.run("$S simulate nosuch.yaml").code == 2);
  CHECK(ground.run("$S validate bad.yaml quickstart").code == 2);
}

TEST_CASE("a full disk is exit code 4, wherever it fills") {
  const Playground ground;
  write_tiny(ground);
  const Outcome outcome = ground.run("$S simulate tiny.yaml >/dev/full");
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "cannot write standard output"));
  CHECK(ground.run("$S list >/dev/full").code == 4);
  ground.write("blocked", "a file, so no folder can be made below it");
  const Outcome blocked = ground.run("$S simulate tiny.yaml --out blocked/run");
  CHECK(blocked.code == 4);
  CHECK(contains(blocked.err, "blocked/run"));
}

TEST_CASE("SIGINT and SIGTERM leave partial results that say so") {
  const Playground ground;
  // Long enough for many to have ended when the first rows reach the disk.
  const std::string endless =
      " simulate quickstart --set workload.duration=200h --set run.warmup=0s --out r --force & pid=$!; "
      "until [ -s r/requests.csv.partial ]; do sleep 0.05; done; ";
  const Outcome interrupted = ground.run("$S" + endless + "kill -TERM $pid; wait $pid");
  CHECK(interrupted.code == 143);
  const auto json = nlohmann::json::parse(ground.read("r/summary.json"), nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["complete"] == false);
  CHECK(json["completed"].get<std::int64_t>() > 0);
  CHECK(contains(interrupted.err, "incomplete"));
  CHECK(contains(interrupted.out, "incomplete, stopped at"));
  // A background process of sh ignores SIGINT until it asks for it again, which the program does.
  CHECK(ground.run("$S" + endless + "kill -INT $pid; wait $pid").code == 130);
}

TEST_CASE("two signals at once are one request, and leave partial results too") {
  const Playground ground;
  const std::string twice =  // both are pending when it goes on
      "$S simulate quickstart --set workload.duration=200h --set run.warmup=0s --out r & pid=$!; "
      "until [ -s r/requests.csv.partial ]; do sleep 0.05; done; "
      "kill -STOP $pid; kill -TERM $pid; kill -INT $pid; kill -CONT $pid; wait $pid";
  const Outcome outcome = ground.run(twice);
  CHECK((outcome.code == 143 || outcome.code == 130));  // either may come first
  const auto json = nlohmann::json::parse(ground.read("r/summary.json"), nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["complete"] == false);
  CHECK(contains(outcome.err, "incomplete"));
}

TEST_CASE("a run in which nothing can go on is exit code 1 and says who waits") {
  const Playground ground;
  write_tiny(ground);
  ground.write("trace.csv",
               "arrival_s,input_tokens,output_tokens\n"
               "0.0,16,100\n");
  const Outcome outcome =
      ground.run("$S simulate tiny.yaml --set engine.num_blocks=4 --set engine.block_size=16");
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "stalled"));
  CHECK(contains(outcome.out, "request 0 "));
  CHECK(contains(outcome.err, "verdict: stalled"));
}

TEST_CASE("the gap lists hold one gap fewer than tokens") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --itls --out r").code == 0);
  CHECK(ground.read("r/itls.jsonl") ==
        "{\"id\":0,\"itls_ns\":[10000000,10000000]}\n{\"id\":1,\"itls_ns\":[10000000]}\n{\"id\":2,\"itls_"
        "ns\":[]}\n");
  CHECK(ground.run("$S simulate preemption --set workload.duration=1min --itls --out p").code == 0);
}

}  // namespace
}  // namespace servetwin::test::simulate_test
