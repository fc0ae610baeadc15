// If this fails, the same requests on the same operation times are scheduled differently than Vidur
// recorded, though both rules are the same here.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/models/catalogue.h"
#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"
#include "tests/support/vidur_run.h"
#include "tests/workload/nodes.h"

namespace servetwin {
namespace {

using namespace test;

const std::string kRuns = std::string(SERVETWIN_DATA_DIR) + "/vidur_runs";
const std::string kRun = kRuns + "/llama3-8b-tp1-sarathi512";

// Each step's rows as iterations.csv writes them, and when it was planned.
class Batches final : public Observer {
 public:
  struct Batch {
    std::string prefill;
    std::string decode;
    Time start = kTimeNever;
  };
  std::vector<Batch> batches;
  std::vector<RequestRecord> records;

  void on_plan(const StepPlan& plan) override {
    if (plan.shape.tokens == 0) return;
    CHECK_INVARIANT(plan.all_rows, raw(plan.step));
    Batch batch;
    batch.start = plan.time;
    for (const StepRow& row : plan.rows) {
      const std::string id = std::to_string(raw(row.request)) + ':';
      const bool prefill = is_chunk(plan, row.request);
      std::string& cell = prefill ? batch.prefill : batch.decode;
      if (!cell.empty()) cell += ' ';
      // Vidur counts the token that a decode row computes as processed.
      cell += prefill ? id + std::to_string(row.tokens.value) + ':' + std::to_string(row.context.value)
                      : id + std::to_string(row.context.value + 1);
    }
    batches.push_back(std::move(batch));
  }
  void on_end(const RequestRecord& record) override { records.push_back(record); }

 private:
  static bool is_chunk(const StepPlan& plan, RequestId request) {
    return std::any_of(plan.entries.begin(), plan.entries.end(),
                       [&](const PlanEntry& entry) { return entry.request == request; });
  }
};

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream in(kRun + "/" + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) rows.push_back(split_csv_line(line));
  return rows;
}

// Each of 2,155 steps is rounded to the nanosecond here and none of them there.
constexpr std::int64_t kMaxDriftNs = 1078;

std::int64_t differ_by_ns(Time ours, const std::string& seconds) {
  return std::abs(to_ns(ours - kTimeZero) - to_ns(duration_from_seconds(*parse_decimal(seconds).value)));
}

void serve_recorded(Observer& seen) {
  const ModelSpec model = find_model("meta-llama/Llama-3.1-8B", {SERVETWIN_SOURCE_DIR});
  CostContext context;
  context.model = &model;
  const auto cost = Registry<CostModel>::instance().make(
      "vidur_tables", map_of({{"ops", text(kRuns + "/ops-llama3-8b-tp1")}, {"attention", text("surrogate")}}),
      context);
  ListSource source(vidur_requests(kRun));
  SimOptions options;
  options.shortcut = false;
  SimBackend backend(source, {cost.get()}, options);
  EngineConfig config = vidur_sarathi(30'208);
  config.plain_loop = true;
  Cluster cluster({{config}, 0}, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&seen});
  backend.attach(cluster);
  serve(cluster, backend);
}

TEST_CASE(
    "chunked prefill makes the 2,155 batches that Vidur's Sarathi scheduler recorded, at the same times") {
  if (!std::filesystem::exists(kRun)) {
    WARN("SKIPPED: there is no " << kRun);
    return;
  }
  Batches seen;
  serve_recorded(seen);
  const auto iterations = rows_of("iterations.csv");
  REQUIRE(iterations.size() == 2155);
  REQUIRE(seen.batches.size() == iterations.size());
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    INFO("batch " << i);
    REQUIRE(seen.batches[i].prefill == iterations[i].at(9));
    REQUIRE(seen.batches[i].decode == iterations[i].at(10));
    REQUIRE(differ_by_ns(seen.batches[i].start, iterations[i].at(3)) <= kMaxDriftNs);
  }
  const auto results = rows_of("request_results.csv");
  REQUIRE(seen.records.size() == results.size());
  for (const RequestRecord& record : seen.records) {
    const std::vector<std::string>& result = results.at(raw(record.id));
    INFO("request " << raw(record.id));
    REQUIRE(record.end_state == EndState::kLength);
    REQUIRE(differ_by_ns(record.first_scheduled, result.at(1)) <= kMaxDriftNs);
    REQUIRE(differ_by_ns(record.first_token, result.at(2)) <= kMaxDriftNs);
    REQUIRE(differ_by_ns(record.end, result.at(3)) <= kMaxDriftNs);
  }
}

}  // namespace
}  // namespace servetwin
