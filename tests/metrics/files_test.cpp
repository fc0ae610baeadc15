// If this fails, a file of the run directory is malformed, misnamed, cut short, or there without being whole.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/metrics/answer.h"
#include "engine/metrics/prometheus_text.h"
#include "engine/metrics/row_files.h"
#include "engine/metrics/summary.h"
#include "engine/metrics/timeline.h"
#include "tests/metrics/hand_run.h"
#include "tests/support/catch.h"

namespace servetwin::files_test {
namespace {

using nlohmann::json;

// A folder of this test case, removed with it.
class Folder {
 public:
  Folder() : path_(std::string(SERVETWIN_BINARY_DIR) + "/metrics_files_" + std::to_string(::getpid())) {
    ::mkdir(path_.c_str(), 0755);
  }
  ~Folder() {
    for (const auto& name : names_) std::remove(name.c_str());
    ::rmdir(path_.c_str());
  }
  std::string file(const std::string& name) {
    names_.push_back(path_ + "/" + name);
    return names_.back();
  }

 private:
  std::string path_;
  std::vector<std::string> names_;
};

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Slo loose_slo() {
  Slo slo;
  slo.ttft = ms_span(150);
  slo.itl = ms_span(100);
  return slo;
}

Recorder small_recorder(RunState state = RunState::kComplete) {
  RecorderOptions options;
  options.classes = {{"chat", loose_slo()}};
  Recorder recorder(options);
  play_small_run(recorder);
  recorder.finish(ms_time(310), state);
  return recorder;
}

TEST_CASE("summary.json has vllm bench serve's names with its units") {
  Provenance provenance;
  provenance.decisions_digest = 0x0123456789abcdefULL;
  const json out = json::parse(summary_json(make_report(small_recorder()), provenance));
  CHECK(out["schema_version"] == kSummarySchemaVersion);
  CHECK(out["complete"] == true);
  CHECK(out["digests"]["decisions"] == "0123456789abcdef");
  CHECK(out["digests"]["timeline"] == "0000000000000000");
  CHECK(out["duration"] == Approx(0.31).epsilon(1e-12));
  CHECK(out["completed"] == 2);
  CHECK(out["failed"] == 0);
  CHECK(out["total_input_tokens"] == 150);
  CHECK(out["total_output_tokens"] == 6);
  CHECK(out["request_throughput"].get<double>() == Approx(2 / 0.31));
  CHECK(out["request_goodput"].get<double>() == Approx(1 / 0.31));
  CHECK(out["output_throughput"].get<double>() == Approx(6 / 0.31));
  CHECK(out["total_token_throughput"].get<double>() == Approx(156 / 0.31));
  CHECK(out["max_output_tokens_per_s"] == 6);
  CHECK(out["max_concurrent_requests"] == 2);
  for (const char* metric : {"ttft_ms", "tpot_ms", "itl_ms", "e2el_ms"}) {
    for (const char* figure : {"mean_", "median_", "std_", "p90_", "p95_", "p99_"}) {
      INFO(figure << metric);
      CHECK(out.at(std::string(figure) + metric).is_number());
    }
  }
  CHECK(out["mean_ttft_ms"] == 170.0);
  CHECK(out["median_itl_ms"] == 40.0);
}

TEST_CASE("the outcomes of summary.json add up and the hit rate counts admissions") {
  const json out = json::parse(summary_json(make_report(small_recorder()), {}));
  const json& r = out["requests"];
  CHECK(r["injected"].get<int>() == r["completed"].get<int>() + r["rejected"].get<int>() +
                                        r["timed_out"].get<int>() + r["cancelled"].get<int>() +
                                        r["failed"].get<int>() + r["in_progress"].get<int>());
  CHECK(r["reasons"]["prompt_too_long"] == 1);
  CHECK(out["prefix_cache"]["hit_rate"].get<double>() == Approx(16.0 / 150));
  CHECK(out["limits"]["by_limit"][0]["name"] == "KV memory");
  CHECK(out["limits"]["by_reason"][0]["name"] == "kv_gate");
}

TEST_CASE("an empty run has null latencies, and the same run has the same bytes") {
  Recorder empty(RecorderOptions{});
  empty.finish(kTimeZero, RunState::kComplete);
  const json out = json::parse(summary_json(make_report(empty), {}));
  CHECK(out["mean_tpot_ms"].is_null());
  CHECK(out["p99_ttft_ms"].is_null());
  CHECK(out["request_goodput"].is_null());
  CHECK(summary_json(make_report(small_recorder()), {}) == summary_json(make_report(small_recorder()), {}));
}

TEST_CASE("an interrupted run says that it is not complete") {
  const Report report = make_report(small_recorder(RunState::kInterrupted));
  CHECK(json::parse(summary_json(report, {}))["complete"] == false);
  CHECK(answer_sentence(report, {}).find("incomplete") == 0);
}

TEST_CASE("the answer is one sentence with the deployment, the share and the limit") {
  const Report report = make_report(small_recorder());
  CHECK(answer_sentence(report, {"2 × H100", "Llama-3.1-8B", "9 req/s"}) ==
        "2 × H100, Llama-3.1-8B, 9 req/s: 33.3 % of requests meet TTFT ≤ 150ms and ITL ≤ 100ms "
        "(missed: TTFT by 1); nothing held requests back for a whole minute; 1 rejected of 3 requests");
}

TEST_CASE("the answer names the minute since when KV memory limits, and 99.99 % is not called 100 %") {
  RecorderOptions options;
  options.classes = {{"chat", loose_slo()}};
  Recorder recorder(options);
  const std::int64_t last = 5 * 60'000 - 1;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const std::int64_t at = last * i / 9'999;
    arrive(recorder, spec_of(i, at));
    recorder.on_end(finished(spec_of(i, at), at + (i == 7 ? 900 : 1), at + 1000, 10));
  }
  StepPlan plan = plan_at(2 * 60'000, 1, 4, 90);
  plan.held[static_cast<std::size_t>(HeldReason::kKvAllocation)] = 4;
  recorder.on_plan(plan);
  recorder.finish(ms_time(6 * 60'000), RunState::kComplete);
  const std::string sentence = answer_sentence(make_report(recorder), {});
  CHECK(sentence ==
        "99.9 % of requests meet TTFT ≤ 150ms and ITL ≤ 100ms (missed: TTFT by 1); the limit is KV memory "
        "from minute 2");
}

TEST_CASE("where classes are promised different things the answer names the one that gets the least") {
  RecorderOptions options;
  options.classes = {
      {"chat", {ms_span(150), {}, {}, {}}}, {"batch", {{}, {}, {}, ms_span(5000)}}, {"free", {}}};
  Recorder recorder(options);
  const std::int64_t first_token_ms[] = {100, 200, 4000, 9000};
  for (std::uint32_t i = 0; i < 4; ++i) {
    RequestSpec spec = spec_of(i, 0);
    spec.traffic_class = ClassId{static_cast<std::uint8_t>(i == 3 ? 2 : i / 2)};
    spec.stat_group = stat_group_for(spec.traffic_class, true);
    arrive(recorder, spec);
    recorder.on_end(finished(spec, first_token_ms[i], first_token_ms[i] + 10, 2));
  }
  recorder.finish(ms_time(9010), RunState::kComplete);
  const Report report = make_report(recorder);
  CHECK(answer_sentence(report, {})
            .find("66.6 % of requests meet the SLO of their class, class chat the least: "
                  "50 % meet TTFT ≤ 150ms (missed: TTFT by 1); ") == 0);
  const std::string table = answer_table(report);
  CHECK(table.find("50 % meet TTFT ≤ 150ms (missed: TTFT by 1)\n") != std::string::npos);
  CHECK(table.find("100 % meet E2E ≤ 5s\n") != std::string::npos);
  const json classes = json::parse(summary_json(report, {}))["classes"];
  CHECK(classes[0]["goodput"]["share"] == 0.5);
  CHECK(classes[1]["slo"]["e2e_ms"] == 5000);
  CHECK(classes[1]["slo"]["ttft_ms"].is_null());
  CHECK(classes[2]["goodput"].is_null());
}

TEST_CASE("without an SLO the answer gives figures instead of a share, and a stall is said first") {
  Recorder recorder(RecorderOptions{});
  play_small_run(recorder);
  arrive(recorder, spec_of(3, 320));
  recorder.finish(ms_time(400), RunState::kStalled);
  const std::string sentence = answer_sentence(make_report(recorder), {});
  CHECK(sentence.find("stalled at 0.4 s: 1 requests wait") == 0);
  CHECK(sentence.find("(no SLO given)") != std::string::npos);
}

TEST_CASE("requests.csv has a row a request with empty fields for what never happened") {
  Folder folder;
  const std::string path = folder.file("requests.csv");
  RequestsCsv csv(path, {"chat, \"fast\""});
  play_small_run(csv);
  CHECK(!exists(path));
  csv.commit();
  const auto lines = lines_of(content_of(path));
  REQUIRE(lines.size() == 4);
  CHECK(
      lines[1] ==
      "0,0,\"chat, \"\"fast\"\"\",1,0,0,length,,100,64,5,0,0,0,0,0,0,100000000,300000000,300000000,100000000,"
      "50000000,300000000,0,0,0,0,0");
  CHECK(lines[3] ==
        "2,,\"chat, "
        "\"\"fast\"\"\",1,0,0,rejected,prompt_too_long,9000,64,0,0,0,0,310000000,310000000,,,,310000000,"
        ",,,,0,0,0,0");
  const std::size_t columns = split_csv_line(lines[0]).size();
  for (const auto& line : lines) CHECK(split_csv_line(line).size() == columns);
}

TEST_CASE("steps.csv has a row a step with when it ended and what the plan held back") {
  Folder folder;
  const std::string path = folder.file("steps.csv");
  StepsCsv csv(path, 1);
  StepPlan plan = plan_at(5, 2, 1, 30);
  plan.shape = shape_of(2, 0);
  plan.shape.padding_tokens = 1;
  plan.held[static_cast<std::size_t>(HeldReason::kKvGate)] = 1;
  csv.on_plan(plan_at(5, 0, 1, 0));
  csv.on_plan(plan);
  csv.on_step_done(ReplicaId{0}, plan.step, plan.shape, plan.time, ms_time(9));
  csv.commit();
  const auto lines = lines_of(content_of(path));
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == "0,1,5000000,9000000,2,2,2,0,0,0,0,0,0,0,1,2,1,30,70,0,0,1,0,0,0,0,0,0,0,0,0");
  CHECK(split_csv_line(lines[0]).size() == split_csv_line(lines[1]).size());
}

TEST_CASE("gap lists are JSON Lines in order of id") {
  Folder folder;
  const std::string path = folder.file("itls.jsonl");
  write_gap_lists(path, {{RequestId{4}, {Duration{7}, Duration{9}}}, {RequestId{1}, {}}});
  CHECK(content_of(path) == "{\"id\":1,\"itls_ns\":[]}\n{\"id\":4,\"itls_ns\":[7,9]}\n");
}

json small_timeline(TimelineWriter::Options options) {
  Folder folder;
  const std::string path = folder.file("timeline.json");
  TimelineWriter timeline(path, options);
  play_small_run(timeline);
  timeline.on_step_done(ReplicaId{0}, StepId{6}, shape_of(1, 0), ms_time(400), ms_time(420));
  timeline.on_step_done(ReplicaId{0}, StepId{7}, shape_of(1, 0), ms_time(405), ms_time(430));
  timeline.commit();
  return json::parse(content_of(path));
}

std::map<std::string, int> phases_of(const json& timeline) {
  std::map<std::string, int> phases;
  for (const json& event : timeline["traceEvents"]) ++phases[event["ph"].get<std::string>()];
  return phases;
}

TEST_CASE("timeline.json is JSON whose slices never overlap and whose requests begin and end") {
  const json timeline = small_timeline({});
  CHECK(timeline["displayTimeUnit"] == "ns");
  double last_end = 0;
  for (const json& event : timeline["traceEvents"]) {
    if (event["ph"] != "X") continue;
    CHECK(event["ts"].get<double>() >= last_end);
    last_end = event["ts"].get<double>() + event["dur"].get<double>();
  }
  CHECK(last_end == 430'000.0);
  auto phases = phases_of(timeline);
  CHECK(phases["X"] == 7);
  CHECK(phases["b"] == 3);
  CHECK(phases["e"] == 3);
  CHECK(phases["n"] == 2);
  CHECK(timeline["otherData"]["left_out_from_ns"] == -1);
}

TEST_CASE("a full timeline says from when it is cut and leaves no request open") {
  TimelineWriter::Options options;
  options.max_bytes = 1500;
  const json timeline = small_timeline(options);
  auto phases = phases_of(timeline);
  CHECK(phases["b"] == phases["e"]);
  CHECK(phases["b"] < 3);
  CHECK(timeline["otherData"]["events_left_out_for_size"] > 0);
  CHECK(timeline["otherData"]["left_out_from_ns"] >= 0);
}

TEST_CASE("a window keeps only what begins in it") {
  TimelineWriter::Options options;
  options.from = ms_time(50);
  options.to = ms_time(250);
  auto phases = phases_of(small_timeline(options));
  CHECK(phases["b"] == 1);
  CHECK(phases["X"] == 3);
}

TEST_CASE("a preemption and its resumption are a flow") {
  Folder folder;
  const std::string path = folder.file("timeline.json");
  TimelineWriter timeline(path, {});
  StepPlan plan = plan_at(5, 1, 1, 30);
  plan.entries = {{PlanAction::kPreempt, RequestId{9}, Tokens{40}, {}, {}, false, false}};
  timeline.on_plan(plan);
  plan.entries = {{PlanAction::kAdmit, RequestId{9}, Tokens{40}, {}, {}, true, true}};
  timeline.on_plan(plan);
  timeline.commit();
  auto phases = phases_of(json::parse(content_of(path)));
  CHECK(phases["s"] == 1);
  CHECK(phases["f"] == 1);
}

}  // namespace
}  // namespace servetwin::files_test
