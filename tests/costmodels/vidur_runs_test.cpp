// If this fails, the same batches with the same operation times no longer take the time that Vidur gave them.
#include <filesystem>
#include <fstream>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "tests/costmodels/cost_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::vidur_runs_test {
namespace {

const std::string kRuns = std::string(SERVETWIN_DATA_DIR) + "/vidur_runs";

struct RecordedRun {
  const char* name;
  const char* ops;
  const char* attention;
  const char* model;
  int tp;
  int pp;
  std::size_t rows;  // batches times stages
};

// "a:b:c d:e:f" as numbers, item by item.
std::vector<std::vector<std::int64_t>> items_of(const std::string& cell) {
  std::vector<std::vector<std::int64_t>> items;
  bool in_item = false;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == ' ') {
      in_item = false;
      continue;
    }
    if (!in_item) items.emplace_back(1, 0);
    in_item = true;
    if (cell[i] == ':') {
      items.back().push_back(0);
    } else {
      items.back().back() = items.back().back() * 10 + (cell[i] - '0');
    }
  }
  return items;
}

TestStep step_of(const std::string& prefill, const std::string& decode) {
  TestStep step;
  for (const auto& row : items_of(decode)) {
    step.shape.tokens += 1;
    step.shape.sequences += 1;
    step.shape.decode_sequences += 1;
    step.shape.decode_context += row.at(1);
    step.shape.max_context = std::max(step.shape.max_context, row.at(1));
  }
  for (const auto& row : items_of(prefill)) step = with_prefill(step, row.at(1), row.at(2));
  return step;
}

void check_run(const RecordedRun& run) {
  INFO(run.name);
  const ModelSpec model = catalogue_model(run.model);
  CostContext context;
  context.model = &model;
  context.tp = run.tp;
  context.pp = run.pp;
  std::vector<std::unique_ptr<CostModel>> stages;
  for (int stage = 0; stage < run.pp; ++stage) {
    const Entries entries{
        {"ops", kRuns + "/" + run.ops}, {"attention", run.attention}, {"stage", std::to_string(stage)}};
    stages.push_back(make_cost("vidur_tables", entries, context));
  }
  std::ifstream in(kRuns + "/" + run.name + "/iterations.csv");
  std::string line;
  std::getline(in, line);
  REQUIRE(line ==
          "batch_id,replica,stage,start_s,duration_s,num_requests,num_tokens,attn_prefill_ms,"
          "attn_decode_ms,prefill,decode");
  std::size_t rows = 0;
  for (; std::getline(in, line); ++rows) {
    const std::vector<std::string> cells = split_csv_line(line);
    INFO("batch " << cells.at(0) << " stage " << cells.at(2));
    const TestStep step = step_of(cells.at(9), cells.at(10));
    REQUIRE(step.shape.tokens == *parse_integer(cells.at(6)).value);
    const auto stage = static_cast<std::size_t>(*parse_integer(cells.at(2)).value);
    const double seconds = *parse_decimal(cells.at(4)).value;
    REQUIRE(to_ns(time_of(*stages.at(stage), step)) == to_ns(duration_from_seconds(seconds)));
  }
  CHECK(rows == run.rows);
}

// No recorded duration lies within 0.1 ps of half a nanosecond, so the last bits of a sum cannot decide.
TEST_CASE("every recorded batch takes the recorded time to the nanosecond") {
  if (!std::filesystem::exists(kRuns)) {
    WARN("skipped: no vidur_runs in SERVETWIN_DATA_DIR");
    return;
  }
  const char* llama_70b = "meta-llama/Llama-2-70b-hf";
  const char* llama_8b = "meta-llama/Llama-3.1-8B";  // the shapes of Llama-3-8B
  check_run({"llama2-70b-tp2-vllm", "ops-llama2-70b-tp2", "measured", llama_70b, 2, 1, 2227});
  check_run({"llama2-70b-tp2-pp2-sarathi512", "ops-llama2-70b-tp2-pp2", "measured", llama_70b, 2, 2, 3968});
  check_run({"llama3-8b-tp1-sarathi512", "ops-llama3-8b-tp1", "surrogate", llama_8b, 1, 1, 2155});
  check_run({"llama3-8b-tp1-vllm-tightkv", "ops-llama3-8b-tp1", "surrogate", llama_8b, 1, 1, 4560});
}

}  // namespace
}  // namespace servetwin::vidur_runs_test
