// If these fail, a user cannot get from a machine to a profile, from there to a simulation, and to how far
// off it is. No figure here depends on how fast or quiet the machine is.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::calibrate_test {
namespace {

constexpr const char* kFew = " --set workload.num_requests=20 ";

// Of two live runs: the figures that follow from them, and the verdict that follows from those.
void check_figure(const nlohmann::json& figure) {
  CAPTURE(figure.dump());
  REQUIRE(figure["live"].size() == 2);
  const double a = figure["live"][0].get<double>();
  const double b = figure["live"][1].get<double>();
  const double mean = (a + b) / 2;
  const double spread = std::abs(a - b) / std::sqrt(2.0) / mean;
  const double error = figure["simulated"].get<double>() / mean - 1;
  CHECK(figure["spread"].get<double>() == Approx(spread).margin(1e-9));
  CHECK(figure["error"].get<double>() == Approx(error).margin(1e-9));
  if (figure["bound"].is_null()) {
    CHECK(figure["verdict"].is_null());
    return;
  }
  const double allowed = std::max(figure["bound"].get<double>(), 2 * spread);
  CHECK(figure["allowed"].get<double>() == Approx(allowed));
  const char* verdict = std::abs(error) <= allowed ? "within" : "OFF";
  CHECK(figure["verdict"] == (spread > 0.1 ? "too noisy to judge" : verdict));
}

TEST_CASE("calibrate writes a profile that simulates, verifies, and is compared with live runs") {
  const Playground ground;
  const Outcome measured = ground.run("$S calibrate tiny-live --budget 3s --out p.yaml --good-enough 0");
  CAPTURE(measured.err);
  REQUIRE(measured.code == 0);
  CHECK(contains(measured.out, "decode"));
  CHECK(contains(measured.out, "host: "));
  CHECK(ground.has("p.yaml.rows.csv"));
  CHECK_FALSE(ground.has("p.yaml.live/journal.jsonl.zst"));
  for (const char* key : {"kind: StepProfile", "threads: 1", "kernels: ", "date: "})
    CHECK(contains(ground.read("p.yaml"), key));

  const std::string fitted = "--set 'cost={model: fitted, profile: p.yaml}' ";
  const Outcome simulated = ground.run("$S simulate tiny-live --json --out s " + fitted + kFew);
  CHECK(simulated.code == 0);
  CHECK(contains(simulated.out, "\"interpolated\""));
  CHECK(contains(ground.run("$S explain s step 1").out, "interpolated"));

  const Outcome fidelity =
      ground.run(std::string("$S fidelity tiny-live --profile p.yaml --repeats 2 --json --out f") + kFew);
  CAPTURE(fidelity.err);
  REQUIRE(fidelity.code == 0);
  const auto json = nlohmann::json::parse(fidelity.out);
  REQUIRE(json["cases"].size() == 2);
  for (const auto& one : json["cases"]) {
    CHECK(one["figures"].size() == 17);
    CHECK(one["equal_steps"]["replayed"] == 1.0);
    CHECK(one["step_errors"]["decode"]["steps"] > 0);
    for (const auto& figure : one["figures"]) check_figure(figure);
  }
  CHECK(json["cases"][0]["figures"][0]["name"] == "capacity");
  CHECK(json["cases"][0]["figures"][0]["bound"] == 0.03);
  CHECK(ground.run("$S fidelity tiny-live --profile p.yaml --out f").code == 2);

  const Outcome verified = ground.run("$S calibrate verify p.yaml tiny-live --budget 1s");
  CHECK((verified.code == 0 || verified.code == 1));
  CHECK(contains(verified.out, verified.code == 0 ? "The profile holds" : "does not hold any more"));
  const Outcome other = ground.run("$S calibrate verify p.yaml tiny-live --threads 2");
  CHECK(other.code == 1);
  CHECK(contains(other.out, "threads 1, not 2"));
}

TEST_CASE("a profile is not replaced unasked, a rows file of other limits is not taken up") {
  const Playground ground;
  const std::string quick = "$S calibrate tiny-live --budget 1s ";
  REQUIRE(ground.run(quick + "--out p.yaml").code == 0);
  CHECK(contains(ground.run(quick + "--out p.yaml").err, "[CFG301]"));
  const Outcome other =
      ground.run(quick + "--out q.yaml --rows p.yaml.rows.csv --set engine.max_num_batched_tokens=128");
  CHECK(other.code == 2);
  CHECK(contains(other.err, "p.yaml.rows.csv"));
  const auto lines = [&] {
    const std::string text = ground.read("p.yaml.rows.csv");
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = lines();
  CHECK(ground.run(quick + "--out q.yaml --rows p.yaml.rows.csv").code == 0);  // goes on
  CHECK(lines() > before);
}

// Serves what is simulated, and calibrates it from outside; `more` are further options.
std::string from_outside(const std::string& more) {
  return "$S serve --simulate tiny.yaml --port 0 > served & pid=$!; "
         "for i in $(seq 400); do grep -q listening served && break; sleep 0.05; done; "
         "$S calibrate tiny.yaml --endpoint $(sed -n 's/^listening on //p' served) --out p.yaml "
         "--max-concurrency 2 --max-prompt 64 " +
         more + "; code=$?; kill $pid; wait $pid; exit $code";
}

TEST_CASE("calibrate --endpoint writes a profile with which its scenario is simulated") {
  const Playground ground;
  write_tiny(ground);
  const Outcome measured = ground.run(from_outside("--budget 15s"));
  CAPTURE(measured.err, measured.out);
  REQUIRE(measured.code == 0);
  for (const char* part : {"base_ns", "95 of 100 within", "KV cache: ", "decode", "p.yaml.rows.csv"})
    CHECK(contains(measured.out, part));
  CHECK(contains(ground.read("p.yaml"), "url: "));
  const Outcome simulated =
      ground.run("$S simulate tiny.yaml --json --out s --set 'cost={model: fitted, profile: p.yaml}'");
  CAPTURE(simulated.err);
  CHECK(simulated.code == 0);
  CHECK(contains(simulated.out, "behind http://127.0.0.1:"));
  CHECK(contains(ground.run(from_outside("--budget 1s")).err, "[CFG301]"));
}

TEST_CASE("calibrate --endpoint says what is wrong with the server it is given") {
  const Playground ground;
  CHECK(contains(ground.run("$S calibrate --endpoint https://a --out p.yaml").err, "[CAL101]"));
  const Outcome nobody = ground.run("$S calibrate --endpoint http://127.0.0.1:1 --out p.yaml");
  CHECK(nobody.code == 2);
  CHECK(contains(nobody.err, "[CAL102]"));
  CHECK(contains(nobody.err, "start the server"));
  CHECK(ground.run("$S calibrate --endpoint http://127.0.0.1:1 --api-key-env NO_SUCH_KEY").code == 2);
  CHECK(ground.run("$S calibrate").code == 2);
  CHECK_FALSE(ground.has("p.yaml.rows.csv"));
}

TEST_CASE("calibrate refuses options that would be ignored") {
  const Playground ground;
  const auto says = [&](const std::string& options, const char* text) {
    const Outcome refused = ground.run("$S calibrate " + options);
    CAPTURE(options, refused.err);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, text));
  };
  for (const char* option : {"--model q", "--api-key-env Q", "--max-concurrency 3", "--max-prompt 99"})
    says(std::string("tiny-live ") + option, "needs --endpoint URL");
  for (const char* option : {"--threads 2", "--cpus 0", "--seed 5", "--good-enough 0.5"})
    says(std::string("--endpoint http://127.0.0.1:1 ") + option, "do not go with --endpoint");
  says("--endpoint http://127.0.0.1:1 --set seed=5", "none is given");
  const Outcome key =
      ground.run("K=$(printf 'a\\rb') $S calibrate --endpoint http://127.0.0.1:1 --api-key-env K");
  CHECK(contains(key.err, "holds a control character"));
}

TEST_CASE("score and fit-engine say so where no published run is asked for") {
  const std::string data = SERVETWIN_DATA_DIR;
  if (!std::filesystem::exists(data + "/vllm-h100")) {
    WARN("skipped: no published runs in " << data);
    return;
  }
  const Playground ground;
  const std::string runs = data + " vllm-h100 --only zzz";
  const Outcome scored = ground.run("$S score " + runs);
  CHECK(scored.code == 2);
  CHECK(contains(scored.err, "no group's name holds zzz"));
  CHECK(ground.run("$S fit-engine vllm-0.15 " + runs + " --out e.yaml").code == 2);
  CHECK_FALSE(ground.has("e.yaml"));
}

TEST_CASE("a profile is scored on the calls of another device alone, and nothing is written then") {
  const std::string data = std::string(SERVETWIN_DATA_DIR) + "/aiconfigurator_ops";
  if (!std::filesystem::exists(data)) {
    WARN("skipped: no " << data);
    return;
  }
  const Playground ground;
  const std::string fit = "$S fit " + data + " --device a100-sxm --unseen-by ";
  const Outcome scored = ground.run(fit + "h100-sxm");
  CHECK(scored.code == 0);
  CHECK(contains(scored.out, "of which it saw none"));
  CHECK(contains(ground.run(fit + "a100-sxm").err, "fitted to a100-sxm's own calls"));
  CHECK(ground.run(fit + "h100-sxm --out p.yaml").code == 2);
  CHECK(ground.run(fit + "rtx-4090").code == 2);
  CHECK_FALSE(ground.has("p.yaml"));
}

TEST_CASE("calibrate and fidelity say what is wrong with what they are given") {
  const Playground ground;
  CHECK(ground.run("$S calibrate tiny-live --budget soon").code == 2);
  CHECK(ground.run("$S calibrate tiny-live other").code == 2);
  CHECK(ground.run("$S calibrate verify p.yaml").code == 2);
  CHECK(ground.run("$S fidelity tiny-live").code == 2);
  CHECK(ground.run("$S fidelity tiny-live --profile missing.yaml").code == 2);
  const Outcome quickstart = ground.run("$S calibrate quickstart --budget 1s --out q.yaml");
  CHECK(quickstart.code == 2);
  CHECK(contains(quickstart.err, "[CFG401]"));
  CHECK_FALSE(ground.has("q.yaml.rows.csv"));
  const Outcome ranks = ground.run("$S calibrate tiny-live --set layout.tp=2 --budget 1s --out q.yaml");
  CHECK(ranks.code == 2);
  CHECK(contains(ranks.err, "a profile is of one rank, and there are 2"));
}

}  // namespace
}  // namespace servetwin::test::calibrate_test
