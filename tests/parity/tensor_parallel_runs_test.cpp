// If these fail, a replica split over ranks decides something else than one rank, says something else, or
// goes on without a rank that failed.
#include "engine/base/error.h"
#include "tests/parity/family_run.h"
#include "tests/parity/live_run.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::test::tensor_parallel_runs_test {
namespace {

// Too few blocks, shared beginnings, clients that go away.
std::string scenario_text(int ranks, const std::string& engine, const std::string& more = "") {
  return R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: ranks}
spec:
  model: servetwin/tiny-llama-random
  device: cpu
  layout: {tp: )" +
         std::to_string(ranks) + R"(}
  engine:
    max_num_seqs: 8
    max_num_batched_tokens: 64
    max_model_len: 256
    block_size: 8
    num_blocks: 40
    )" + engine +
         R"(
  workload:
    arrivals: all_at_once
    num_requests: 32
    lengths:
      input: {distribution: uniform, low: 8, high: 60}
      output: {distribution: uniform, low: 4, high: 40}
    shared_prefix: {count: 2, tokens: {distribution: uniform, low: 16, high: 40}}
    cancellations: {share: 0.1, after: {mean: 20ms, cv: 1}}
  cost: {model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 10}
)" + more;
}

const char* const kEngines[] = {
    "preset: vllm-v1",
    "preset: vllm-v1-async",
    "preset: vllm-v1\n    host_blocks: 30\n    rules: {pressure: swap}",
    "preset: vllm-v1-async\n    host_blocks: 30\n    rules: {pressure: swap}",
};

TEST_CASE("a run on several ranks replays, and one rank decides the same under its durations") {
  std::int64_t preemptions = 0;
  std::int64_t swapped = 0;
  std::int64_t cached = 0;
  for (const char* engine : kEngines) {
    CAPTURE(engine);
    const LiveRun run("ranks", scenario_text(2, engine));
    CHECK(run.tally.records.size() == 32);
    JournalReplay replay(run);
    const RecordedRun record = run.record();
    const Scenario one_rank = parse_scenario(scenario_text(1, engine), "one rank");
    RecordedSimulation simulation(one_rank, record);
    const DecisionComparison comparison = first_difference(replay.decisions(), simulation.decisions());
    INFO(to_text(comparison, "two ranks", "one rank"));
    CHECK_FALSE(comparison.first.has_value());
    CHECK_FALSE(replay.backend().mismatch().has_value());
    CHECK(replay.reader().complete());
    CHECK(digests_of(replay.cluster()) == run.recorded());
    CHECK(digests_of(simulation.cluster()) == run.recorded());
    preemptions += run.tally.preemptions;
    swapped += run.tally.swapped_in;
    cached += run.tally.cached;
  }
  CHECK(preemptions > 0);
  CHECK(swapped > 0);
  CHECK(cached > 0);
}

TEST_CASE("two replicas of four ranks replay too, and each rank tells what the formulas say") {
  const LiveRun run("replicas", scenario_text(4, "preset: vllm-v1-async", "  replicas: 2\n"));
  JournalReplay replay(run);
  DecisionRecord record;
  while (replay.decisions().next(record)) continue;
  CHECK(digests_of(replay.cluster()) == run.recorded());
  REQUIRE(run.collectives.has_value());
  CHECK(run.collectives->counted == run.collectives->by_formula);
  const std::int64_t layers = run.scenario().model.layers;
  CHECK(run.collectives->counted[CollectiveOp::kAllReduce].calls ==
        4 * static_cast<std::int64_t>(run.result.steps) * (2 * layers + 1));
  CHECK(run.collectives->counted[CollectiveOp::kAllGather].bytes > 0);
  CHECK(run.flops->computed == run.flops->with_cache);
}

TEST_CASE("each family says on several ranks, crowded, preempted and swapped, what it says on one, alone") {
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    const TinyCheckpoint folder("family_ranks", model->config, model->spec, model->weights);
    AnswerCollector alone;
    LiveRun("alone", family_scenario(folder.path(), "num_blocks: 200, max_num_seqs: 1"), alone.options());
    for (const int ranks : {2, 4}) {
      AnswerCollector crowd;
      const LiveRun run("crowd",
                        family_scenario(folder.path(),
                                        "num_blocks: 20, max_num_batched_tokens: 16, preset: vllm-v1-async, "
                                        "host_blocks: 24, rules: {pressure: swap}",
                                        ranks),
                        crowd.options());
      CHECK(run.tally.preemptions > 0);
      CHECK(crowd.answers == alone.answers);
      CHECK(run.collectives->counted == run.collectives->by_formula);
    }
  }
}

TEST_CASE(
    "ranks that share out tokens and experts say the same in a crowded run, and send what the formulas say") {
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    const TinyCheckpoint folder("family_layout", model->config, model->spec, model->weights);
    const SplitLayout layout{true, model->spec.is_moe()};
    AnswerCollector alone;
    LiveRun("alone", family_scenario(folder.path(), "num_blocks: 200, max_num_seqs: 1"), alone.options());
    AnswerCollector crowd;
    LiveWorldOptions options = crowd.options();
    options.layout = layout;
    const LiveRun run("crowd",
                      family_scenario(folder.path(),
                                      "num_blocks: 20, max_num_batched_tokens: 16, preset: vllm-v1-async, "
                                      "host_blocks: 24, rules: {pressure: swap}",
                                      2),
                      options);
    CHECK(run.tally.preemptions > 0);
    CHECK(crowd.answers == alone.answers);
    CHECK(run.collectives->counted == run.collectives->by_formula);
    CHECK(run.flops->computed == run.flops->with_cache);
    CHECK((run.collectives->counted[CollectiveOp::kAllToAll].calls > 0) == model->spec.is_moe());
    JournalReplay replay(run);
    DecisionRecord record;
    while (replay.decisions().next(record)) continue;
    CHECK(digests_of(replay.cluster()) == run.recorded());
  }
}

TEST_CASE("a rank that fails ends the run, is named, and the journal replays until then") {
  LiveWorldOptions options;
  options.deadline = std::chrono::hours(1);  // nobody waits as long
  options.on_rank_step = [](std::size_t replica, int rank, StepId step) {
    if (replica == 1 && rank == 2 && raw(step) >= 3) throw std::runtime_error("gone");
  };
  std::string text;
  try {
    const LiveRun run("failing", scenario_text(4, "preset: vllm-v1-async", "  replicas: 2\n"), options);
  } catch (const ExecutionError& error) {
    text = error.what();
  }
  CHECK(text == "replica 1: rank 2 of 4 failed in step 3: gone");
  const Scenario scenario =
      parse_scenario(scenario_text(4, "preset: vllm-v1-async", "  replicas: 2\n"), "failing");
  JournalReplay replay(scenario, "live_run_failing/journal.jsonl.zst");
  DecisionRecord record;
  while (replay.decisions().next(record)) continue;
  REQUIRE(replay.reader().footer().has_value());
  CHECK_FALSE(replay.reader().footer()->complete);
  CHECK(replay.cluster().decisions_digest() == replay.reader().footer()->decisions);
  CHECK(replay.cluster().timeline_digest() == replay.reader().footer()->timeline);
  std::filesystem::remove_all("live_run_failing");
}

TEST_CASE("what ranks cannot split is refused by name") {
  Scenario scenario = parse_scenario(scenario_text(4, "preset: vllm-v1"), "uneven");
  check_live(scenario);
  scenario.model.intermediate = 130;
  try {
    check_live(scenario);
    FAIL("was not refused");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 1);
    const Problem& problem = error.problems().front();
    CHECK(problem.path == "spec.layout.tp");
    CHECK(problem.message == "130 feed-forward columns cannot be split over 4 ranks");
    CHECK(problem.remedy == "use 1 or 2");
  }
}

}  // namespace
}  // namespace servetwin::test::tensor_parallel_runs_test
