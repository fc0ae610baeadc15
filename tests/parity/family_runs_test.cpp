// If these fail, a family runs as layers and not as a served model: scheduled with chunks and preemptions it
// says something else than alone, or its journal is not its run.
#include "tests/parity/family_run.h"
#include "tests/parity/live_run.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::family_runs_test {
namespace {

TEST_CASE("each family says in a crowded run, by chunks and after preemptions, what it says one by one") {
  REQUIRE(family_oracles().size() == 10);
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    const TinyCheckpoint folder("family_run", model->config, model->spec, model->weights);
    AnswerCollector alone;
    {
      const LiveRun run("alone", family_scenario(folder.path(), "num_blocks: 200, max_num_seqs: 1"),
                        alone.options(1));
      CHECK(run.tally.preemptions == 0);
      CHECK(run.tally.ended(EndState::kStop) + run.tally.ended(EndState::kLength) == 12);
    }
    for (const char* engine : {"num_blocks: 24, max_num_batched_tokens: 16, sliding_window: keep_all",
                               "num_blocks: 24, max_num_batched_tokens: 16, preset: vllm-v1-async, "
                               "host_blocks: 24, rules: {pressure: swap}"}) {
      CAPTURE(engine);
      AnswerCollector crowd;
      const LiveRun run("crowd", family_scenario(folder.path(), engine), crowd.options(2));
      CHECK(run.tally.preemptions > 0);
      CHECK(run.tally.cached > 0);
      CHECK(crowd.answers == alone.answers);
      JournalReplay replay(run);
      DecisionRecord record;
      while (replay.decisions().next(record)) continue;
      CHECK(replay.reader().complete());
      CHECK(digests_of(replay.cluster()) == run.recorded());
    }
  }
}

TEST_CASE(
    "without a KV cache each family says the same, and computes what the formula of whole sequences says") {
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    const TinyCheckpoint folder("family_flops", model->config, model->spec, model->weights);
    const std::string text = family_scenario(
        folder.path(), "num_blocks: 40, max_num_batched_tokens: 16, sliding_window: keep_all");
    AnswerCollector with;
    const LiveRun cached("cached", text, with.options(1));
    AnswerCollector without;
    const LiveRun uncached("uncached", text, without.options(1, false));
    CHECK(without.answers == with.answers);
    REQUIRE(cached.flops.has_value());
    REQUIRE(uncached.flops.has_value());
    CHECK(cached.flops->computed == cached.flops->with_cache);
    CHECK(uncached.flops->computed == uncached.flops->without_cache);
    CHECK(uncached.flops->computed > 5 * uncached.flops->with_cache);
  }
}

}  // namespace
}  // namespace servetwin::family_runs_test
