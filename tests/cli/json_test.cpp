// If these fail, programs that read the JSON of a verb get something else than people read.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::json_test {
namespace {

using Json = nlohmann::json;

// Standard output as JSON; null when it is none.
Json json_of(const Outcome& outcome) {
  const Json json = Json::parse(outcome.out, nullptr, false);
  return json.is_discarded() ? Json(nullptr) : json;
}

TEST_CASE("validate --json has one entry a file, with the problems that are also messages") {
  const Playground ground;
  write_tiny(ground);
  ground.write("bad.yaml",
               "apiVersion: servetwin/v1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  modle: y\n");
  const Outcome outcome = ground.run("$S validate quickstart bad.yaml preemption --json");
  CHECK(outcome.code == 2);
  const Json list = json_of(outcome);
  REQUIRE(list.size() == 3);
  CHECK(list[0]["ok"] == true);
  CHECK(list[0]["replicas"] == 2);
  CHECK(list[2]["ok"] == true);
  CHECK(list[1]["ok"] == false);
  const Json& problem = list[1]["problems"][0];
  CHECK(problem["file"] == "bad.yaml");
  CHECK(problem["code"].get<std::string>().size() == 6);
  CHECK(contains(outcome.err, problem["message"].get<std::string>()));
  CHECK(ground.run("$S validate quickstart --json").code == 0);
}

TEST_CASE("list --json has every kind with the parameters of its entries") {
  const Playground ground;
  const Json all = json_of(ground.run("$S list --json"));
  for (const char* kind : {"scenarios", "comparisons", "measures", "models", "devices", "presets", "rules",
                           "routers", "cost-models", "arrivals", "lengths"}) {
    CAPTURE(kind);
    REQUIRE(all.contains(kind));
    CHECK_FALSE(all[kind].empty());
  }
  const Json arrivals = json_of(ground.run("$S list arrivals --json"));
  CHECK(arrivals.size() == 1);
  bool found = false;
  for (const Json& entry : arrivals["arrivals"]) {
    if (entry["name"] != "poisson") continue;
    found = true;
    CHECK(entry["parameters"][0]["name"] == "rate");
    CHECK(entry["parameters"][0]["required"] == true);
    CHECK(entry["parameters"][0]["type"] == "rate");
  }
  CHECK(found);
  const Outcome unknown = ground.run("$S list router --json");
  CHECK(unknown.code == 2);
  CHECK(unknown.out.empty());
}

TEST_CASE("replay --json gives both pairs of digests, and what differs first") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --out r").code == 0);
  const Json equal = json_of(ground.run("$S replay r --json"));
  CHECK(equal["equal"] == true);
  CHECK(equal["recorded"] == equal["replayed"]);
  CHECK(equal["first_difference"].is_null());
  CHECK(equal["events"].get<std::int64_t>() > 5);
  const Outcome changed = ground.run(
      "zstdcat r/journal.jsonl.zst | sed '1s/max_num_batched_tokens: 2048/max_num_batched_tokens: 8192/' | "
      "zstd -q -o changed.zst && $S replay changed.zst --json");
  CHECK(changed.code == 1);
  CHECK(json_of(changed)["equal"] == false);
  CHECK(json_of(changed)["first_difference"].is_string());
}

TEST_CASE("diff --json names the step that differs first with both sides") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out a").code == 0);
  CHECK(ground.run("$S simulate tiny.yaml --set engine.max_num_seqs=1 --out c").code == 0);
  const Json equal = json_of(ground.run("$S diff a a --json"));
  CHECK(equal["equal"] == true);
  CHECK(equal["first_difference"].is_null());
  const Outcome outcome = ground.run("$S diff a c --json");
  CHECK(outcome.code == 1);
  const Json json = json_of(outcome);
  CHECK(json["first_difference"]["replica"] == 0);
  CHECK(json["first_difference"]["step"] == 3);
  CHECK(contains(json["first_difference"]["a"]["decisions"].get<std::string>(), "admit request 1"));
  CHECK(json["equal_steps"].get<std::int64_t>() < json["steps"].get<std::int64_t>());
}

TEST_CASE("explain --json gives a step, a request, a request at a step and a code") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --set cost='{model: analytic}' --out r").code == 0);
  const Json step = json_of(ground.run("$S explain r step 1 --json"));
  CHECK(step["same_run"] == true);
  CHECK(step["batch"][0]["request"] == 0);
  CHECK(step["batch"][0]["tokens"] == 2048);
  double sum_ms = 0;
  for (const Json& op : step["cost"]["operations"]) sum_ms += op["ms"].get<double>();
  CHECK(step["cost"]["operations"].size() > 3);
  CHECK(sum_ms > 0);
  CHECK(step["cost"]["total_ms"].get<double>() > 0);
  const Json request = json_of(ground.run("$S explain r request 0 --json"));
  CHECK(request["same_run"] == true);
  CHECK(request["end"]["tokens"] == 3);
  CHECK(request["steps"][0]["what"] == "admitted");
  const Json at_step = json_of(ground.run("$S explain r request 0 step 1 --json"));
  CHECK(contains(at_step["what"].get<std::string>(), "admitted"));
  CHECK(json_of(ground.run("$S explain CFG301 --json"))["code"] == "CFG301");
}

TEST_CASE("explain tells what layers with a window see of a step") {
  const Playground ground;
  write_tiny(ground);
  const std::string streams = "--set cost='{model: analytic}' --set 'engine.streaming={sink: 4, window: 60}'";
  CHECK(ground.run("$S simulate tiny.yaml " + streams + " --out r").code == 0);
  const Json first = json_of(ground.run("$S explain r step 1 --json"));
  CHECK(first["same_run"] == true);
  CHECK(first["window"]["tokens"] == 64);
  CHECK(first["window"]["prefill_pairs"].get<int>() < first["window"]["prefill_pairs_of"].get<int>());
  CHECK(contains(ground.run("$S explain r step 1").out, "layers with a window of 64 tokens see 0 of 0 keys"));
  CHECK(ground.run("$S simulate tiny.yaml --set cost='{model: analytic}' --out whole").code == 0);
  CHECK(json_of(ground.run("$S explain whole step 1 --json"))["window"].is_null());
  CHECK_FALSE(contains(ground.run("$S explain whole step 1").out, "layers with a window"));
}

TEST_CASE("explain --json of a run that its config no longer makes says so in the data too") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out r").code == 0);
  CHECK(ground.run("sed -i 's/max_num_batched_tokens: 2048/max_num_batched_tokens: 1024/' r/config.yaml")
            .code == 0);
  const Outcome outcome = ground.run("$S explain r step 1 --json");
  CHECK(outcome.code == 1);
  CHECK(json_of(outcome)["same_run"] == false);
  CHECK(contains(outcome.err, "this is not what happened then"));
}

}  // namespace
}  // namespace servetwin::test::json_test
