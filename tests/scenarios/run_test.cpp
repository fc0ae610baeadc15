// If these fail, the simulator runs something else than the scenario says, or its files do not match the run.
#include "scenarios/run.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "scenarios/input_text.h"
#include "scenarios/scenario_files.h"
#include "tests/support/catch.h"

namespace servetwin::run_test {
namespace {

class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() / ("servetwin_run_" + std::to_string(::getpid()))) {}
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Scenario small(std::vector<std::string> assignments = {}) {
  assignments.insert(assignments.begin(), {"workload.duration=20s", "run.warmup=0s"});
  return load_scenario("quickstart", {std::move(assignments), {}});
}

TEST_CASE("an answer names devices as people do") {
  const auto title = [](const std::string& device) {
    const Scenario scenario =
        load_scenario("continuous_batching", {{"device=" + device, "workload.duration=1s",
                                               "engine.num_blocks=4000", "engine.memory_fraction=null"},
                                              {}});
    return run_scenario(scenario).deployment.devices;
  };
  CHECK(title("rtx-4090") == "1 × RTX 4090");
  CHECK(title("rtx-pro-6000-server") == "1 × RTX PRO 6000");
  CHECK(title("h200-sxm") == "1 × H200");
  CHECK(title("l40s") == "1 × L40S");
}

TEST_CASE("every request of a run ends exactly once") {
  const RunResult result = run_scenario(small());
  const Outcomes& all = result.report.all;
  CHECK(result.state == RunState::kComplete);
  CHECK(all.injected > 100);
  CHECK(all.injected == all.completed + all.rejected + all.timed_out + all.cancelled + all.failed);
  CHECK(result.deployment.devices == "2 × H100");
  CHECK(result.deployment.model == "Llama-3.1-8B");
  CHECK(result.provenance.not_modelled == std::vector<std::string>{"front-end time"});
}

TEST_CASE("the shortcut changes no digest, and neither do files") {
  const ScratchFolder folder;
  RunOptions plain;
  plain.plain_loop = true;
  RunOptions with_files;
  with_files.out = folder.path();
  with_files.journal = true;
  with_files.steps = true;
  const RunResult a = run_scenario(small());
  const RunResult b = run_scenario(small(), plain);
  const RunResult c = run_scenario(small(), with_files);
  CHECK(a.provenance.timeline_digest == b.provenance.timeline_digest);
  CHECK(a.provenance.decisions_digest == b.provenance.decisions_digest);
  CHECK(a.provenance.timeline_digest == c.provenance.timeline_digest);
  CHECK(a.provenance.timeline_digest != run_scenario(small({"seed=2"})).provenance.timeline_digest);
}

TEST_CASE("the run folder holds all files, and its config gives the same run again") {
  const ScratchFolder folder;
  RunOptions options;
  options.out = folder.path();
  options.journal = true;
  const RunResult first = run_scenario(small(), options);
  for (const char* name : {"config.yaml", "summary.json", "requests.csv", "timeline.json", "metrics.prom",
                           "journal.jsonl.zst"}) {
    CAPTURE(name);
    CHECK(std::filesystem::file_size(folder.file(name)) > 0);
  }
  CHECK(first.files.size() == 6);
  const auto summary = nlohmann::json::parse(read_input(folder.file("summary.json")));
  CHECK(summary["complete"] == true);
  CHECK(summary["digests"]["decisions"].get<std::string>().size() == 16);
  const Scenario again = load_scenario(folder.file("config.yaml"));
  CHECK(run_scenario(again).provenance.timeline_digest == first.provenance.timeline_digest);
  CHECK(scenario_hash(again) == first.provenance.scenario_hash);
}

TEST_CASE("a class keeps the limits of its own SLO and takes the others from the scenario") {
  const Scenario scenario = load_scenario(
      "chunked_prefill", {{"workload.duration=5s", "workload.classes[0].slo={ttft: 300ms}"}, {}});
  const Report report = run_scenario(scenario).report;
  REQUIRE(report.classes.size() == 2);
  CHECK(report.classes[0].slo.ttft == Duration{300'000'000});
  CHECK(report.classes[0].slo.itl == Duration{50'000'000});
  CHECK(report.classes[1].slo.ttft == Duration{2'000'000'000});
  CHECK(scenario_hash(parse_scenario(write_scenario(scenario), "c.yaml")) == scenario_hash(scenario));
}

TEST_CASE("a folder with another run's files is left alone unless forced") {
  const ScratchFolder folder;
  RunOptions options;
  options.out = folder.path();
  options.timeline = false;
  run_scenario(small(), options);
  try {
    run_scenario(small(), options);
    FAIL("overwritten");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().code == "CFG301");
  }
  options.force = true;
  CHECK_NOTHROW(run_scenario(small(), options));
}

TEST_CASE("a stopped run says that it is not complete and still writes its files") {
  const ScratchFolder folder;
  volatile bool stop = false;
  RunOptions options;
  options.out = folder.path();
  options.stop = &stop;
  options.progress = [&](const RunProgress&) { stop = true; };
  const RunResult result = run_scenario(load_scenario("quickstart"), options);
  CHECK(result.state == RunState::kInterrupted);
  CHECK(result.report.all.in_progress > 0);
  CHECK(nlohmann::json::parse(read_input(folder.file("summary.json")))["complete"] == false);
}

TEST_CASE("only arrivals inside the measured time count, and drain ends the arrivals") {
  const RunResult all = run_scenario(small());
  const RunResult part = run_scenario(small({"run={warmup: 5s, measure: 10s, drain: 2s}"}));
  CHECK(part.report.measured.outcomes.injected < all.report.measured.outcomes.injected);
  CHECK(part.report.measured.outcomes.injected > 0);
  CHECK(part.report.all.injected > part.report.measured.outcomes.injected);
  CHECK(part.report.all.injected < all.report.all.injected);
}

TEST_CASE("a front end adds its time before the first token") {
  const RunResult without = run_scenario(small());
  const RunResult with = run_scenario(small({"front_end={servers: 64, per_request: 40ms}"}));
  CHECK(with.provenance.not_modelled.empty());
  CHECK(with.report.measured.ttft.mean.value_or(0) > without.report.measured.ttft.mean.value_or(0) + 30e6);
}

TEST_CASE("the way to the client is part of TTFT and of E2E, and of nothing else") {
  const RunResult without = run_scenario(small());
  const RunResult with = run_scenario(small({"front_end={per_output: 40ms}"}));
  CHECK(with.provenance.not_modelled.empty());
  CHECK(with.provenance.timeline_digest == without.provenance.timeline_digest);
  const ClassReport& a = without.report.measured;
  const ClassReport& b = with.report.measured;
  CHECK(b.ttft.max.value_or(0) == a.ttft.max.value_or(0) + 40e6);
  CHECK(b.e2e.max.value_or(0) == a.e2e.max.value_or(0) + 40e6);
  CHECK(b.front_end.min.value_or(0) == 40e6);
  CHECK(b.tpot.max == a.tpot.max);
  CHECK(b.itl.max == a.itl.max);
}

TEST_CASE("requests pause for slow readers only where the front end says so") {
  const std::vector<std::string> slow = {"workload.slow_readers={share: 0.05, rate: 200B/s, window: 512B}"};
  const RunResult fast = run_scenario(small());
  const RunResult merged = run_scenario(small(slow));
  std::vector<std::string> pause = slow;
  pause.push_back("front_end={slow_reader: pause, bytes_per_token: 100B}");
  const RunResult paused = run_scenario(small(pause));
  CHECK(merged.provenance.timeline_digest == fast.provenance.timeline_digest);
  CHECK(paused.report.all.injected == fast.report.all.injected);
  CHECK(paused.report.all.in_progress == 0);
  // Two tokens a second: who reads slowly takes far longer than anybody else.
  CHECK(paused.report.measured.e2e.max.value_or(0) > 4 * fast.report.measured.e2e.max.value_or(0));
  CHECK(paused.report.measured.e2e.median().value_or(0) < 2 * fast.report.measured.e2e.median().value_or(0));
}

TEST_CASE("a warm cache holds the prompts of its trace, whole blocks within all but the last token") {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path());
  const std::string trace = folder.file("two.jsonl");
  std::ofstream(trace) << R"({"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2]})"
                       << "\n"
                       << R"({"timestamp": 900, "input_length": 600, "output_length": 5, "hash_ids": [3, 4]})"
                       << "\n";
  const std::vector<std::string> both = {"workload=trace:" + trace, "run={}", "replicas=1"};
  const RunResult cold = run_scenario(load_scenario("quickstart", {both, {}}));
  std::vector<std::string> with_trace = both;
  with_trace.push_back("initial={kv_cache: \"trace:" + trace + "\"}");
  const RunResult warm = run_scenario(load_scenario("quickstart", {with_trace, {}}));
  CHECK(cold.report.measured.cached == 0);
  CHECK(warm.report.measured.cached == 63 * 16 + 37 * 16);
}

TEST_CASE("an initial cache that is neither cold nor a trace is refused by name") {
  try {
    run_scenario(small({"initial={kv_cache: hot}"}));
    FAIL("accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().code == "CFG103");
    CHECK(error.problems().front().path == "spec.initial.kv_cache");
  }
}

TEST_CASE("every shipped scenario runs for a while") {
  for (const std::string& name : shipped_scenarios()) {
    CAPTURE(name);
    const RunResult result =
        run_scenario(load_scenario(name, {{"workload.duration=30s", "run.warmup=0s"}, {}}));
    CHECK(result.state == RunState::kComplete);
    CHECK(result.report.all.completed > 0);
    CHECK(result.report.all.rejected == 0);
  }
}

// What each scenario's header tells the reader to look at.
double lesson(const std::string& name,
              std::vector<std::string> assignments,
              double (*figure)(const Report&)) {
  assignments.insert(assignments.begin(), "workload.duration=120s");
  return figure(run_scenario(load_scenario(name, {std::move(assignments), {}})).report);
}

TEST_CASE("the shipped comparisons show what their headers say") {
  const auto ttft = [](const Report& r) { return r.measured.ttft.mean.value_or(0); };
  const auto chat_gap = [](const Report& r) { return r.classes[0].itl.max.value_or(0); };
  const auto preemptions = [](const Report& r) { return static_cast<double>(r.usage.preemptions); };
  const auto hits = [](const Report& r) { return static_cast<double>(r.measured.cached); };
  const auto blocked = [](const Report& r) { return r.classes[0].head_of_line.mean.value_or(0); };
  CHECK(lesson("continuous_batching", {}, ttft) * 10 <
        lesson("continuous_batching", {"engine.max_num_seqs=1"}, ttft));
  CHECK(lesson("chunked_prefill", {}, chat_gap) * 2 <
        lesson("chunked_prefill", {"engine.chunked_prefill=false", "engine.max_num_batched_tokens=32768"},
               chat_gap));
  CHECK(lesson("preemption", {}, preemptions) > 10);
  CHECK(lesson("preemption", {"engine.rules.admission=conservative"}, preemptions) == 0);
  CHECK(lesson("preemption", {"engine.num_blocks=20000"}, preemptions) == 0);
  CHECK(lesson("prefix_caching", {}, hits) > 100'000);
  CHECK(lesson("prefix_caching", {"engine.prefix_caching=false"}, hits) == 0);
  CHECK(lesson("head_of_line", {}, blocked) >
        10 * lesson("head_of_line", {"engine.num_blocks=8000"}, blocked));
  CHECK(lesson("head_of_line", {}, blocked) > 0);
}

}  // namespace
}  // namespace servetwin::run_test
