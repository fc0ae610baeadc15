// If these fail, a served session cannot be looked at afterwards: its files are missing or say something
// else.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::serve_test {
namespace {

// Two answers, then a signal.
std::string session(const std::string& what) {
  return "$S serve " + what +
         " --served-model-name m --port 0 --out d > out & pid=$!; "
         "for i in $(seq 400); do grep -q listening out && break; sleep 0.05; done; "
         "url=$(sed -n 's/^listening on //p' out); for i in 1 2; do "
         "curl -sf $url/v1/completions -H 'Content-Type: application/json' "
         "-d '{\"model\": \"m\", \"prompt\": \"Hello there\", \"max_tokens\": 3}' > answer || exit 9; done; "
         "kill $pid; wait $pid";
}

TEST_CASE("a served session leaves its requests, steps and timeline, simulated or real") {
  for (const char* what : {"--simulate tiny.yaml", "--model servetwin/tiny-llama-random --kv-memory 4MiB"}) {
    CAPTURE(what);
    const Playground ground;
    write_tiny(ground);
    CHECK(ground.run(session(what)).code == 0);
    CHECK(contains(ground.read("out"), "d/timeline.json"));
    const std::string requests = ground.read("d/requests.csv");
    CHECK(std::count(requests.begin(), requests.end(), '\n') == 3);
    const std::string steps = ground.read("d/steps.csv");
    CHECK(std::count(steps.begin(), steps.end(), '\n') > 2);
    const auto timeline = nlohmann::json::parse(ground.read("d/timeline.json"));
    int begun = 0;
    for (const auto& event : timeline["traceEvents"]) begun += event.value("ph", "") == "b" ? 1 : 0;
    CHECK(begun >= 2);  // a span for each request
    // The folder holds a session already.
    CHECK(ground.run(std::string("timeout 60 $S serve ") + what + " --port 0 --out d").code == 2);
    // A session that cannot begin leaves it alone.
    CHECK(ground
              .run(std::string("$S serve ") + what +
                   " --host 203.0.113.1 --allow-remote --port 0 --out d --force")
              .code == 4);
    CHECK(ground.read("d/requests.csv") == requests);
  }
}

TEST_CASE("a served session is replayed with both digests, simulated again and explained from its folder") {
  for (const std::string what :
       {"--simulate tiny.yaml", "--simulate tiny.yaml --set replicas=2 --speed 3",
        "--model servetwin/tiny-llama-random --num-blocks 40 --max-num-seqs 3 --kv-dtype bf16 --seed 9"}) {
    CAPTURE(what);
    const Playground ground;
    write_tiny(ground);
    REQUIRE(ground.run(session(what)).code == 0);
    const Outcome replay = ground.run("$S replay d --json");
    CHECK(replay.code == 0);
    const auto json = nlohmann::json::parse(replay.out);
    CHECK(json["equal"] == true);
    CHECK(json["recorded"] == nlohmann::json::parse(ground.read("d/summary.json"))["digests"]);
    CHECK(json["events"] > 8);
    CHECK(ground.run("$S diff d d").code == 0);
    const Outcome parity = ground.run("$S parity d");
    CHECK(parity.code == 0);
    CHECK(contains(parity.out, "equal"));
    CHECK(contains(ground.run("$S explain d request 0").out, "ended: length, 3 tokens"));
    CHECK(ground.run("$S explain d step 1").code == 0);
    CHECK(ground.run("$S validate d/config.yaml").code == 0);
  }
}

TEST_CASE("a warm cache is warm again where its session is replayed or simulated anew") {
  const Playground ground;
  write_tiny(ground);
  ground.write("warm.jsonl",
               R"({"timestamp": 0, "input_length": 900, "output_length": 3, "hash_ids": [1, 2]})"
               "\n");
  const Outcome warm = ground.run(
      "$S simulate tiny.yaml --journal --out s --workload trace:warm.jsonl "
      "--set initial.kv_cache=trace:warm.jsonl");
  INFO(warm.err);
  REQUIRE(warm.code == 0);
  REQUIRE(contains(ground.run("$S explain s request 0").out, "896 from the prefix cache"));
  CHECK(ground.run("$S replay s").code == 0);
  CHECK(ground.run("$S parity s").code == 0);
  CHECK(ground.run("$S explain s step 1").code == 0);
}

TEST_CASE("files that a run has begun, and the tokens of a live one, are another run's files") {
  const Playground ground;
  write_tiny(ground);
  for (const char* name : {"requests.csv.partial", "tokens.jsonl"}) {
    CAPTURE(name);
    CHECK(ground.run(std::string("rm -rf d && mkdir d && touch d/") + name).code == 0);
    const Outcome refused = ground.run("$S simulate tiny.yaml --out d");
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "[CFG301]"));
    CHECK(ground.run("$S simulate tiny.yaml --out d --force").code == 0);
    CHECK_FALSE(ground.has(std::string("d/") + name));
  }
}

}  // namespace
}  // namespace servetwin::test::serve_test
