// If these fail, a family runs as layers and not as a served model: scheduled with chunks and preemptions it
// says something else than alone, or its journal is not its run.
#include <map>
#include <mutex>

#include "tests/parity/live_run.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::family_runs_test {
namespace {

using Answers = std::map<RequestId, std::vector<TokenId>>;

// More than any window in prompt and answer, and beginnings that are shared.
std::string scenario_text(const std::string& model, const std::string& engine) {
  return R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: family}
spec:
  model: )" +
         model + R"(
  device: cpu
  engine: {max_model_len: 128, block_size: 8, )" +
         engine + R"(}
  workload:
    arrivals: all_at_once
    num_requests: 12
    lengths:
      input: {distribution: uniform, low: 20, high: 50}
      output: {distribution: uniform, low: 10, high: 30}
    shared_prefix: {count: 2, tokens: {distribution: uniform, low: 16, high: 30}}
  cost: {model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 10}
)";
}

struct Collector {
  LiveWorldOptions options(int threads, bool kv_cache = true) {
    LiveWorldOptions options;
    options.threads = threads;
    options.kv_cache = kv_cache;
    options.sink = [this](const OutputToken& token) {
      const std::lock_guard lock(mutex);
      std::vector<TokenId>& answer = answers[token.request];
      CHECK(answer.size() == static_cast<std::size_t>(token.index));
      answer.push_back(token.sampled.token);
    };
    return options;
  }

  std::mutex mutex;
  Answers answers;
};

TEST_CASE("each family says in a crowded run, by chunks and after preemptions, what it says one by one") {
  REQUIRE(family_oracles().size() == 10);
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    const TinyCheckpoint folder("family_run", model->config, model->spec, model->weights);
    Collector alone;
    {
      const LiveRun run("alone", scenario_text(folder.path(), "num_blocks: 200, max_num_seqs: 1"),
                        alone.options(1));
      CHECK(run.tally.preemptions == 0);
      CHECK(run.tally.ended(EndState::kStop) + run.tally.ended(EndState::kLength) == 12);
    }
    for (const char* engine : {"num_blocks: 24, max_num_batched_tokens: 16",
                               "num_blocks: 24, max_num_batched_tokens: 16, preset: vllm-v1-async, "
                               "host_blocks: 24, rules: {pressure: swap}"}) {
      CAPTURE(engine);
      Collector crowd;
      const LiveRun run("crowd", scenario_text(folder.path(), engine), crowd.options(2));
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
    const std::string text = scenario_text(folder.path(), "num_blocks: 40, max_num_batched_tokens: 16");
    Collector with;
    const LiveRun cached("cached", text, with.options(1));
    Collector without;
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
