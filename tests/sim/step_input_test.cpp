// If this fails, a cost model that prices prefill rows one by one is shown other rows than the step runs.
#include "sim/backend/step_input.h"

#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"

namespace servetwin::step_input_test {
namespace {

using namespace test;

// A line, priced from the rows; keeps what it saw.
class RowCost final : public CostModel {
 public:
  explicit RowCost(bool asks) : asks_(asks) {}

  mutable std::int64_t with_rows = 0;
  mutable std::int64_t most_rows = 0;
  mutable std::int64_t wrong = 0;

  Duration step_time(const StepInput& input) const override {
    const StepShape& shape = *input.shape;
    std::int64_t tokens = 0;
    std::int64_t pairs = 0;
    std::int64_t squares = 0;
    for (const PrefillRow& row : input.prefill_rows) {
      tokens += row.tokens;
      pairs += row.tokens * row.context;
      squares += row.tokens * row.tokens;
    }
    const auto rows = static_cast<std::int64_t>(input.prefill_rows.size());
    const bool right = rows == shape.prefill_sequences && tokens == shape.prefill_tokens &&
                       pairs == shape.prefill_q_context && squares == shape.prefill_q_squared;
    wrong += right ? 0 : 1;
    with_rows += rows > 0 ? 1 : 0;
    most_rows = std::max(most_rows, rows);
    return Duration{5'000'000 + 20'000 * shape.tokens + 10 * pairs};
  }
  StepCost step(const StepInput& input) const override {
    StepCost cost;
    cost.total = step_time(input);
    return cost;
  }
  bool needs_rows() const override { return asks_; }
  Evidence evidence() const override { return Evidence::kAnalytic; }
  std::uint64_t profile_hash() const override { return 1; }
  std::string describe() const override { return "rows"; }

 private:
  bool asks_;
};

// Long prompts and answers in too few blocks: chunks, several prefill rows a step, preemptions.
std::vector<WorkloadItem> crowd() {
  std::vector<WorkloadItem> items;
  for (std::uint32_t i = 0; i < 60; ++i) {
    WorkloadItem item;
    item.spec.id = RequestId{i};
    item.spec.arrival = time_at_ns(std::int64_t{i / 4} * 40'000'000);
    item.spec.prompt = Tokens{10 + std::int64_t{i * 37 % 190}};
    item.spec.max_tokens = Tokens{1 + std::int64_t{i * 13 % 60}};
    item.truth.output = item.spec.max_tokens;
    items.push_back(item);
  }
  return items;
}

void serve_crowd(const RowCost& cost, bool plain, int depth, Collect& seen) {
  ListSource source(crowd());
  SimOptions options;
  options.shortcut = !plain;
  SimBackend backend(source, {&cost}, options);
  EngineConfig config;
  config.max_num_batched_tokens = Tokens{96};
  config.max_model_len = Tokens{512};
  config.num_blocks = Blocks{60};
  config.full_sequence_gate = false;
  config.in_flight = {depth, depth > 1};
  config.plain_loop = plain;
  Cluster cluster({{config}, 0}, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&seen});
  backend.attach(cluster);
  serve(cluster, backend);
}

TEST_CASE("the rows that a cost model asks for add up to the step's shape, preemptions included") {
  for (const bool plain : {false, true}) {
    for (const int depth : {1, 2}) {
      INFO((plain ? "plain" : "shortcut") << " depth " << depth);
      const RowCost cost(true);
      Collect seen;
      serve_crowd(cost, plain, depth, seen);
      CHECK(seen.records.size() == 60);
      CHECK(seen.preemptions > 0);
      CHECK(cost.wrong == 0);
      CHECK(cost.with_rows > 60);
      CHECK(cost.most_rows > 2);
    }
  }
}

TEST_CASE("a cost model that does not ask is shown no rows") {
  const RowCost cost(false);
  Collect seen;
  serve_crowd(cost, false, 1, seen);
  CHECK(cost.with_rows == 0);
  CHECK(cost.wrong > 60);
}

}  // namespace
}  // namespace servetwin::step_input_test
