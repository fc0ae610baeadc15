// If these fail, the same requests on the same operation times are scheduled differently than Vidur recorded,
// though both rules are the same here.
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

namespace servetwin::vidur_schedule_test {
namespace {

using namespace test;

const std::string kRuns = std::string(SERVETWIN_DATA_DIR) + "/vidur_runs";

// One of the recorded runs, and what schedules as it did.
struct Recorded {
  const char* folder;
  const char* model;
  const char* ops;
  const char* attention;
  int tp = 1;
  std::int64_t num_blocks = 0;
  std::int64_t max_tokens = 0;  // of a batch
  const char* batch = "running_first";
  std::size_t batches = 0;

  std::string path() const { return kRuns + '/' + folder; }
};

const Recorded kSarathi{"llama3-8b-tp1-sarathi512",
                        "meta-llama/Llama-3.1-8B",
                        "ops-llama3-8b-tp1",
                        "surrogate",
                        1,
                        30'208,
                        512,
                        "running_first",
                        2155};
// Vidur's vLLM counts a batch of prompts as its size times its longest.
const Recorded kVllmRuns[] = {{"llama3-8b-tp1-vllm-tightkv", "meta-llama/Llama-3.1-8B", "ops-llama3-8b-tp1",
                               "surrogate", 1, 700, 4096, "padded_prompts", 4560},
                              {"llama2-70b-tp2-vllm", "meta-llama/Llama-2-70b-hf", "ops-llama2-70b-tp2",
                               "measured", 2, 3328, 4096, "padded_prompts", 2227}};

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

std::vector<std::vector<std::string>> rows_of(const Recorded& run, const std::string& file) {
  std::ifstream in(run.path() + "/" + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) rows.push_back(split_csv_line(line));
  return rows;
}

// Each step is rounded to the nanosecond here and none of them there.
std::int64_t max_drift_ns(const Recorded& run) { return static_cast<std::int64_t>(run.batches / 2 + 1); }

std::int64_t differ_by_ns(Time ours, const std::string& seconds) {
  return std::abs(to_ns(ours - kTimeZero) - to_ns(duration_from_seconds(*parse_decimal(seconds).value)));
}

void serve_recorded(const Recorded& run, Observer& seen) {
  const ModelSpec model = find_model(run.model, {SERVETWIN_SOURCE_DIR});
  CostContext context;
  context.model = &model;
  context.tp = run.tp;
  const auto cost = Registry<CostModel>::instance().make(
      "vidur_tables", map_of({{"ops", text(kRuns + '/' + run.ops)}, {"attention", text(run.attention)}}),
      context);
  ListSource source(vidur_requests(run.path()));
  SimOptions options;
  options.shortcut = false;
  SimBackend backend(source, {cost.get()}, options);
  EngineConfig config = vidur_sarathi(run.num_blocks);
  config.max_num_batched_tokens = Tokens{run.max_tokens};
  config.plain_loop = true;
  RuleNames names;
  names.batch = run.batch;
  Cluster cluster({{config}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&seen});
  backend.attach(cluster);
  serve(cluster, backend);
}

// Both preset and record name a batch's rows in order.
void require_equal_batches(const Recorded& run) {
  if (!std::filesystem::exists(run.path())) {
    WARN("SKIPPED: there is no " << run.path());
    return;
  }
  Batches seen;
  serve_recorded(run, seen);
  const auto iterations = rows_of(run, "iterations.csv");
  REQUIRE(iterations.size() == run.batches);
  REQUIRE(seen.batches.size() == iterations.size());
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    INFO(run.folder << ", batch " << i);
    REQUIRE(seen.batches[i].prefill == iterations[i].at(9));
    REQUIRE(seen.batches[i].decode == iterations[i].at(10));
    REQUIRE(differ_by_ns(seen.batches[i].start, iterations[i].at(3)) <= max_drift_ns(run));
  }
  const auto results = rows_of(run, "request_results.csv");
  REQUIRE(seen.records.size() == results.size());
  for (const RequestRecord& record : seen.records) {
    const std::vector<std::string>& result = results.at(raw(record.id));
    INFO(run.folder << ", request " << raw(record.id));
    REQUIRE(record.end_state == EndState::kLength);
    REQUIRE(differ_by_ns(record.first_scheduled, result.at(1)) <= max_drift_ns(run));
    REQUIRE(differ_by_ns(record.first_token, result.at(2)) <= max_drift_ns(run));
    REQUIRE(differ_by_ns(record.end, result.at(3)) <= max_drift_ns(run));
    REQUIRE(std::to_string(record.preemptions) == result.at(9));
  }
}

TEST_CASE(
    "chunked prefill makes the 2,155 batches that Vidur's Sarathi scheduler recorded, at the same times") {
  require_equal_batches(kSarathi);
}

TEST_CASE("decodes first makes the batches of Vidur's Sarathi scheduler too") {
  Recorded run = kSarathi;
  run.batch = "decodes_first";
  require_equal_batches(run);
}

TEST_CASE("prompts or decoders alone make the 6,787 batches and 24 restarts of Vidur's vLLM scheduler") {
  for (const Recorded& run : kVllmRuns) require_equal_batches(run);
}

}  // namespace
}  // namespace servetwin::vidur_schedule_test
