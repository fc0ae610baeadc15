// If these fail, a live model whose windows give blocks back does not say what it says with all of its KV,
// its memory grows all the same, or the simulation decides otherwise.
#include <algorithm>
#include <map>
#include <mutex>

#include "tests/parity/live_run.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::window_runs_test {
namespace {

// Tokens with their log probabilities, bit for bit.
using Answers = std::map<RequestId, std::vector<std::pair<TokenId, float>>>;

// A dozen requests at once; `lengths` are of the answers.
std::string scenario_text(const std::string& model, const std::string& engine, const std::string& more) {
  return R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: windows}
spec:
  model: )" +
         model + R"(
  device: cpu
  engine: {max_model_len: 400, block_size: 4, max_num_batched_tokens: 16, )" +
         engine + R"(}
  workload:
    arrivals: all_at_once
    )" + more +
         R"(
  cost: {model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 10}
)";
}

constexpr const char* kDozen = R"(num_requests: 12
    lengths:
      input: {distribution: uniform, low: 20, high: 50}
      output: {distribution: uniform, low: 10, high: 40}
    shared_prefix: {count: 2, tokens: {distribution: uniform, low: 16, high: 30}})";

struct Collector {
  LiveWorldOptions options(int threads) {
    LiveWorldOptions options;
    options.threads = threads;
    options.sampling.logprobs = 1;
    options.sink = [this](const OutputToken& token) {
      const std::lock_guard lock(mutex);
      answers[token.request].emplace_back(token.sampled.token, token.sampled.logprob);
    };
    return options;
  }

  std::mutex mutex;
  Answers answers;
};

// The path of the first problem; empty if nothing is thrown.
template <class Try>
std::string refused(const Try& attempt) {
  try {
    attempt();
  } catch (const ConfigError& error) {
    return error.problems().front().path;
  }
  return "";
}

template <class Check>
void for_windowed_families(const Check& check) {
  int count = 0;
  for (const ModelOracle* model : family_oracles()) {
    if (!model->spec.sliding_window) continue;
    CAPTURE(model->name);
    ++count;
    const TinyCheckpoint folder("window_run", model->config, model->spec, model->weights);
    check(*model, folder.path());
  }
  CHECK(count >= 3);
}

TEST_CASE("with blocks given back, preempted and cached, models say what they say with all of their KV") {
  std::int64_t preemptions = 0;
  std::int64_t cached = 0;
  for_windowed_families([&](const ModelOracle&, const std::string& model) {
    Collector masked;
    {
      const LiveRun run(
          "masked",
          scenario_text(model, "num_blocks: 400, max_num_seqs: 1, sliding_window: keep_all", kDozen),
          masked.options(1));
      CHECK(run.tally.preemptions == 0);
    }
    for (const char* engine :
         {"num_blocks: 75, sliding_window: model", "num_blocks: 75, preset: vllm-v1-async",
          "num_blocks: 75, prefix_caching: false"}) {
      CAPTURE(engine);
      Collector windowed;
      const LiveRun run("windowed", scenario_text(model, engine, kDozen), windowed.options(2));
      CHECK(run.scenario().kv_groups.layout.has_windows());
      CHECK(windowed.answers == masked.answers);
      preemptions += run.tally.preemptions;
      cached += run.tally.cached;

      const RecordedRun record = run.record();
      JournalReplay replay(run);
      RecordedSimulation simulation(run.scenario(), record);
      const DecisionComparison comparison = first_difference(replay.decisions(), simulation.decisions());
      INFO(to_text(comparison, "live", "simulated"));
      CHECK(digests_of(replay.cluster()) == run.recorded());
      CHECK(digests_of(simulation.cluster()) == run.recorded());
    }
  });
  CHECK(preemptions > 0);
  CHECK(cached > 0);
}

TEST_CASE("a long answer's blocks stop growing at the window") {
  const auto used = [](const std::string& model, const std::string& engine, int output) {
    Collector collector;
    const std::string lengths =
        "num_requests: 1\n    lengths: {input: 8, output: " + std::to_string(output) + "}";
    const LiveRun run("long", scenario_text(model, "num_blocks: 900, " + engine, lengths),
                      collector.options(1));
    CHECK(collector.answers.begin()->second.size() == static_cast<std::size_t>(output));
    return run.tally.most_used.value;
  };
  for_windowed_families([&](const ModelOracle& oracle, const std::string& model) {
    const std::int64_t window = *oracle.spec.sliding_window;
    const KvLayout layout = windowed_kv_layout(oracle.spec);
    std::int64_t short_answer = 0;
    std::int64_t long_answer = 0;
    for (const KvLayerGroup& group : layout.groups) {
      const std::int64_t rolling = ceil_div(window - 1, 4) + 1;
      short_answer += group.window > 0 ? rolling : ceil_div(8 + 100 - 1, 4);
      long_answer += group.window > 0 ? rolling : ceil_div(8 + 300 - 1, 4);
    }
    CHECK(used(model, "sliding_window: model", 100) == short_answer);
    CHECK(used(model, "sliding_window: model", 300) == long_answer);
    CHECK(used(model, "sliding_window: keep_all", 300) == ceil_div(8 + 300 - 1, 4));
  });
}

TEST_CASE("what a live engine cannot do with windows it refuses by name") {
  for_windowed_families([](const ModelOracle&, const std::string& model) {
    LiveWorldOptions uncached;
    uncached.kv_cache = false;
    const Scenario scenario = parse_scenario(scenario_text(model, "num_blocks: 90", kDozen), "no_cache");
    CHECK(refused([&] { const LiveWorld world(scenario, uncached); }) == "spec.engine.sliding_window");
  });
  const std::string streaming = scenario_text("servetwin/tiny-llama-random",
                                              "num_blocks: 90, streaming: {sink: 4, window: 16}", kDozen);
  const Scenario streams = parse_scenario(streaming, "streaming");
  std::vector<std::string> paths;
  try {
    check_live(streams);
  } catch (const ConfigError& error) {
    for (const Problem& problem : error.problems()) paths.push_back(problem.path);
  }
  CHECK(std::count(paths.begin(), paths.end(), "spec.engine.streaming") == 1);
}

}  // namespace
}  // namespace servetwin::window_runs_test
