// If these fail, how a request is scheduled changes what it says: batching, chunking, prefix reuse,
// preemption, threads or steps in flight reach the tokens.
#include <map>
#include <mutex>

#include "tests/parity/live_run.h"
#include "tests/support/catch.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::live_tokens_test {
namespace {

using Answers = std::map<RequestId, std::vector<TokenId>>;

constexpr const char* kAtOnce = "    arrivals: all_at_once\n";

std::string scenario_text(const std::string& engine, const std::string& workload) {
  return R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: tokens}
spec:
  model: servetwin/tiny-llama-random
  device: cpu
  engine: {max_model_len: 512, block_size: 8, )" +
         engine + R"(}
  workload:
    num_requests: 24
    lengths:
      input: {distribution: uniform, low: 4, high: 60}
      output: {distribution: uniform, low: 4, high: 50}
    max_tokens: {fixed: 45}
)" + workload +
         "  cost: {model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 10}\n";
}

const std::string kShared = std::string(kAtOnce) + R"(    shared_prefix:
      count: 3
      tokens: {distribution: uniform, low: 16, high: 40}
)";

struct Spoken {
  Answers answers;
  Tally tally;
};

Spoken speak(const std::string& text, float temperature, int threads = 1) {
  Spoken spoken;
  std::mutex mutex;
  LiveWorldOptions options;
  options.threads = threads;
  options.sampling.temperature = temperature;
  options.sampling.top_p = 0.95;
  options.sink = [&](const OutputToken& token) {
    const std::lock_guard lock(mutex);
    std::vector<TokenId>& answer = spoken.answers[token.request];
    CHECK(answer.size() == static_cast<std::size_t>(token.index));
    answer.push_back(token.sampled.token);
  };
  const LiveRun run("tokens", text, std::move(options));
  spoken.tally = run.tally;
  for (const RequestRecord& record : run.tally.records) {
    CHECK(is_finished(record.end_state));
    CHECK(static_cast<std::int64_t>(spoken.answers[record.id].size()) == record.outputs.value);
  }
  return spoken;
}

TEST_CASE("every request says the same however it is scheduled, greedy or drawn") {
  for (const float temperature : {0.0F, 0.8F}) {
    const Spoken alone = speak(scenario_text("num_blocks: 400, max_num_seqs: 1", kShared), temperature);
    REQUIRE(alone.answers.size() == 24);
    CHECK(alone.tally.preemptions == 0);
    const Spoken tight = speak(scenario_text("num_blocks: 40", kShared), temperature);
    CHECK(tight.tally.preemptions > 0);
    CHECK(tight.tally.cached > 0);
    CHECK(tight.answers == alone.answers);
    const Spoken uncached =
        speak(scenario_text("num_blocks: 40, prefix_caching: false", kShared), temperature);
    CHECK(uncached.tally.preemptions > 0);
    CHECK(uncached.tally.cached == 0);
    CHECK(uncached.answers == alone.answers);
    const Spoken chunked =
        speak(scenario_text("num_blocks: 400, max_num_batched_tokens: 7", kShared), temperature);
    CHECK(chunked.answers == alone.answers);
    const Spoken ahead =
        speak(scenario_text("num_blocks: 40, preset: vllm-v1-async", kShared), temperature, 2);
    CHECK(ahead.tally.preemptions > 0);
    CHECK(ahead.answers == alone.answers);
    const std::string swap = "num_blocks: 40, host_blocks: 50, rules: {pressure: swap}, ";
    for (const char* how : {"prefix_caching: true", "prefix_caching: false", "preset: vllm-v1-async"}) {
      CAPTURE(how);
      const Spoken swapped = speak(scenario_text(swap + how, kShared), temperature);
      CHECK(swapped.tally.swapped_in > 0);
      CHECK(swapped.answers == alone.answers);
    }
  }
}

TEST_CASE("a later turn repeats what the model said, and finds its keys in the cache") {
  // One user, so that every run numbers its requests alike.
  const std::string turns =
      "    closed_loop: {users: 1}\n    sessions: {turns: 3, think_time: {mean: 1ms}}\n";
  const Spoken cached = speak(scenario_text("num_blocks: 400", turns), 0);
  CHECK(cached.tally.cached > 0);
  const Spoken uncached = speak(scenario_text("num_blocks: 400, prefix_caching: false", turns), 0);
  CHECK(uncached.tally.cached == 0);
  CHECK(cached.answers == uncached.answers);
}

TEST_CASE("a scenario whose model is a folder says what the same weights say when they are drawn") {
  const std::string drawn = scenario_text("num_blocks: 40", kShared);
  const ModelSpec model = parse_scenario(drawn, "drawn.yaml").model;
  const TinyCheckpoint folder("tokens", model, random_weights(model, 1));
  const std::string name = model.name;
  std::string read = drawn;
  read.replace(read.find(name), name.size(), folder.path());
  CHECK(parse_scenario(read, "read.yaml").model.name == folder.path());
  CHECK(speak(read, 0).answers == speak(drawn, 0).answers);
}

TEST_CASE("requests whose text is equal say the same, and others do not") {
  const Spoken spoken = speak(scenario_text("num_blocks: 400", kShared), 0);
  std::map<std::vector<TokenId>, int> different;
  for (const auto& [request, answer] : spoken.answers) ++different[answer];
  CHECK(different.size() > 12);
}

}  // namespace
}  // namespace servetwin::live_tokens_test
