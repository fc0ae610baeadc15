// If these fail, the schedule that runs live is not the schedule that is simulated: a journal does not replay
// to its digests, or the simulator, given the same outside world and durations, decides otherwise.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"
#include "tests/parity/live_run.h"
#include "tests/support/catch.h"

namespace servetwin::live_parity_test {
namespace {

// Everyone at once into a pool that holds a quarter of them; clients that leave and time limits that pass
// while they wait or run.
std::string scenario_text(const std::string& engine, const std::string& more = "") {
  return R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: parity}
spec:
  model: servetwin/tiny-llama-random
  device: cpu
  engine:
    max_num_batched_tokens: 128
    max_num_seqs: 12
    max_model_len: 256
    block_size: 8
    num_blocks: 60
    )" + engine +
         R"(
  workload:
    num_requests: 48
    arrivals: all_at_once
    lengths:
      input: {distribution: uniform, low: 4, high: 60}
      output: {distribution: uniform, low: 4, high: 70}
    max_tokens: {fixed: 60}
    shared_prefix: {count: 3, tokens: {distribution: uniform, low: 16, high: 40}}
    cancellations: {share: 0.2, after: {mean: 20ms, cv: 1}}
    timeouts: {share: 0.5, total: 40ms, first_token: 30ms, queue: 20ms}
  cost: {model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 10}
)" + more;
}

struct Setup {
  const char* name;
  const char* engine;
  const char* more;
};

const Setup kSetups[] = {
    {"one step in flight", "preset: vllm-v1", ""},
    {"two steps in flight, outputs speculated", "preset: vllm-v1-async", ""},
    {"two steps in flight, outputs awaited", "in_flight: {depth: 2, speculate_outputs: false}", ""},
    {"priorities", "preset: vllm-v1-priority", ""},
    {"two replicas", "preset: vllm-v1-async", "  replicas: 2\n  router: late_binding\n"},
    {"plans that wait", "batching_delay: 2ms", ""},
    {"no prefix cache", "prefix_caching: false", ""},
    {"swap", "host_blocks: 60\n    rules: {pressure: swap}", ""},
    {"swap to hardly any room", "host_blocks: 6\n    rules: {pressure: swap}", ""},
    {"swap to little room, two steps in flight",
     "preset: vllm-v1-async\n    host_blocks: 25\n    rules: {pressure: swap}", ""},
};

TEST_CASE("a live run's journal replays to both digests") {
  for (const Setup& setup : kSetups) {
    CAPTURE(setup.name);
    const LiveRun run("replay", scenario_text(setup.engine, setup.more));
    JournalReplay replay(run);
    DecisionRecord record;
    while (replay.decisions().next(record)) continue;
    CHECK_FALSE(replay.backend().mismatch().has_value());
    CHECK(replay.reader().complete());
    CHECK(digests_of(replay.cluster()) == run.recorded());
  }
}

TEST_CASE("the simulator makes a live run's decisions when it is given its arrivals and durations") {
  std::int64_t preemptions = 0;
  std::int64_t swapped = 0;
  std::int64_t cached = 0;
  std::int64_t cancelled = 0;
  std::int64_t timed_out = 0;
  std::int64_t stopped = 0;
  for (const Setup& setup : kSetups) {
    CAPTURE(setup.name);
    const LiveRun run("simulated", scenario_text(setup.engine, setup.more));
    CHECK(run.tally.records.size() == 48);
    JournalReplay replay(run);
    const RecordedRun record = run.record();
    RecordedSimulation simulation(run.scenario(), record);
    const DecisionComparison comparison = first_difference(replay.decisions(), simulation.decisions());
    CHECK(comparison.steps > 40);
    INFO(to_text(comparison, "live", "simulated"));
    CHECK_FALSE(comparison.first.has_value());
    CHECK(digests_of(simulation.cluster()) == run.recorded());
    preemptions += run.tally.preemptions;
    swapped += run.tally.swapped_in;
    cached += run.tally.cached;
    cancelled += run.tally.ended(EndState::kCancelled);
    timed_out += run.tally.ended(EndState::kTimedOut);
    stopped += run.tally.ended(EndState::kStop);
  }
  CHECK(preemptions > 0);
  CHECK(swapped > 0);
  CHECK(cached > 0);
  CHECK(cancelled > 0);
  CHECK(timed_out > 0);
  CHECK(stopped > 0);
}

// The journal replays, and the simulator with the run's durations decides the same.
void check_parity(const LiveRun& run) {
  CHECK(run.tally.records.size() == 48);
  JournalReplay replay(run);
  const RecordedRun record = run.record();
  RecordedSimulation simulation(run.scenario(), record);
  const DecisionComparison comparison = first_difference(replay.decisions(), simulation.decisions());
  INFO(to_text(comparison, "live", "simulated"));
  CHECK_FALSE(comparison.first.has_value());
  CHECK_FALSE(replay.backend().mismatch().has_value());
  CHECK(digests_of(replay.cluster()) == run.recorded());
  CHECK(digests_of(simulation.cluster()) == run.recorded());
}

// A rule of each kind in turn, with what it needs.
std::vector<std::string> engines_of_all_rules() {
  std::vector<std::string> engines;
  const auto add = [&](const std::string& kind, const std::vector<std::string>& names,
                       const std::string& more) {
    for (const std::string& name : names) engines.push_back("rules: {" + kind + ": " + name + more + "}");
  };
  add("waiting_order", Registry<WaitingOrder>::instance().names(),
      ", predictor: noisy_oracle, yield: by_order");
  add("predictor", Registry<Predictor>::instance().names(), ", waiting_order: srtf");
  add("batch", Registry<BatchRule>::instance().names(), "");
  add("admission", Registry<AdmissionRule>::instance().names(), "");
  add("victim", Registry<VictimRule>::instance().names(), "");
  for (const std::string& name : Registry<PressureRule>::instance().names()) {
    const std::string tier = name == "recompute" ? "" : "host_blocks: 25\n    ";
    engines.push_back(tier + "rules: {pressure: " + name + "}");
  }
  return engines;
}

TEST_CASE("every rule makes the decisions of a live run again, replayed and simulated") {
  for (const std::string& engine : engines_of_all_rules()) {
    CAPTURE(engine);
    const LiveRun run("rules", scenario_text(engine, "  slo: {ttft: 20ms, tpot: 5ms}\n"));
    check_parity(run);
  }
}

TEST_CASE("every preset runs live, its journal replays, and the simulator decides the same") {
  for (const std::string& name : Registry<Preset>::instance().names()) {
    CAPTURE(name);
    std::string text = scenario_text("preset: " + name);
    const std::string budget = "max_num_batched_tokens: 128";  // too few where prompts go in whole
    text.replace(text.find(budget), budget.size(), "max_num_batched_tokens: 256");
    check_parity(LiveRun("preset", text));
  }
}

TEST_CASE("conversations whose next turn waits for an answer have parity too") {
  std::string text = scenario_text("preset: vllm-v1-async");
  const std::string open = "    arrivals: all_at_once\n";
  text.replace(text.find(open), open.size(),
               "    closed_loop: {users: 8}\n    sessions: {turns: 3, think_time: {mean: 1ms, cv: 1}}\n");
  const LiveRun run("conversations", text);
  CHECK(run.tally.records.size() == 48);
  CHECK(run.tally.cached > 0);
  JournalReplay replay(run);
  const RecordedRun record = run.record();
  RecordedSimulation simulation(run.scenario(), record);
  const DecisionComparison comparison = first_difference(replay.decisions(), simulation.decisions());
  INFO(to_text(comparison, "live", "simulated"));
  CHECK_FALSE(comparison.first.has_value());
  CHECK(digests_of(replay.cluster()) == run.recorded());
  CHECK(digests_of(simulation.cluster()) == run.recorded());
}

TEST_CASE("where live and simulation part, the first differing step is named with both sides") {
  const LiveRun run("parted", scenario_text("preset: vllm-v1"));
  RecordedRun record = run.record();
  REQUIRE_FALSE(run.tally.stops.empty());
  const RequestRecord& stop = run.tally.stops.front();
  for (RecordedItem& item : record.items) {
    if (item.item.spec.id == stop.id) item.item.truth.output = stop.outputs + Tokens{1};
  }
  JournalReplay replay(run);
  RecordedSimulation simulation(run.scenario(), record);
  const DecisionComparison comparison = first_difference(replay.decisions(), simulation.decisions());
  REQUIRE(comparison.first.has_value());
  CAPTURE(to_text(comparison, "live", "simulated"));
  REQUIRE(comparison.first->a.has_value());
  REQUIRE(comparison.first->b.has_value());
  CHECK(comparison.first->a->text.find(std::to_string(raw(stop.id))) != std::string::npos);
  CHECK(comparison.first->a->step == comparison.first->b->step);
  CHECK(comparison.equal_steps < comparison.steps);
}

}  // namespace
}  // namespace servetwin::live_parity_test
