// The crowded scenario that models of each family serve, and what a live run answered.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "scenarios/live_world.h"
#include "tests/support/catch.h"

namespace servetwin {

// More than any window in prompt and answer, and beginnings that are shared.
inline std::string family_scenario(const std::string& model, const std::string& engine, int ranks = 1) {
  return R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: family}
spec:
  model: )" +
         model + R"(
  device: cpu
  layout: {tp: )" +
         std::to_string(ranks) + R"(}
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

// Every request's tokens, in their order.
struct AnswerCollector {
  LiveWorldOptions options(int threads = 1, bool kv_cache = true) {
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
  std::map<RequestId, std::vector<TokenId>> answers;
};

}  // namespace servetwin
