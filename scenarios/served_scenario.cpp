// The keys that a server's options set, over a file that has the rest.
#include "scenarios/served_scenario.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace servetwin {
namespace {

constexpr const char* kServed = R"(apiVersion: servetwin/v1
kind: Scenario
metadata:
  name: served
  description: A served session. Its traffic is in its journal; workload and cost below are not used.
spec:
  model: servetwin/tiny-llama-random
  device: cpu
  workload: {arrivals: {process: constant, rate: 1/s}, lengths: {input: 1, output: 1}, num_requests: 1}
  cost: {model: linear, base: 1ms, per_token_ns: 0, per_context_ns: 0}
)";

}  // namespace

Scenario served_scenario(const LiveEngineOptions& options) {
  const EngineConfig& engine = options.engine;
  ScenarioOverrides overrides;
  const auto set = [&](const char* key, const nlohmann::json& value) {
    overrides.set.push_back(std::string(key) + '=' + value.dump());
  };
  set("model", options.model);
  set("seed", options.seed);
  set("layout.tp", options.ranks);
  set("engine.block_size", engine.block_size.value);
  set("engine.num_blocks", engine.num_blocks.value);
  set("engine.max_model_len", engine.max_model_len.value);
  set("engine.max_num_seqs", engine.max_num_seqs);
  set("engine.max_num_batched_tokens", engine.max_num_batched_tokens.value);
  set("engine.kv_dtype", name_of(options.kv_dtype));
  return parse_scenario(kServed, "servetwin serve", overrides);
}

}  // namespace servetwin
