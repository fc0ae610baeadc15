// If these fail, a launch command becomes a scenario that is not what the command would start.
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "scenarios/launch/launch_command.h"
#include "scenarios/scenario.h"
#include "tests/support/catch.h"

namespace servetwin::launch_test {
namespace {

Scenario scenario_of(const std::string& command, const std::string& device = "h100-sxm") {
  return parse_scenario(scenario_text(read_launch_command(command, device), "launched"), "launched.yaml");
}

// What the problem says, with its remedy.
template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().place.file != "");
    return to_string(error.problems().front());
  }
  return "nothing was refused";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a command is split as a shell splits it") {
  const std::string command = "A=1 B='2 3' vllm serve 'a b' c\\\"d \\\n \"e f\" '$x' g\\ h && echo done";
  const std::vector<std::string> words = {"vllm", "serve", "a b", "c\"d", "e f", "$x", "g h"};
  CHECK(split_command(command) == words);
  CHECK(split_command("  ").empty());
  CHECK(contains(refusal([] { split_command("vllm serve 'a"); }), "a quote ' is not closed"));
}

TEST_CASE("flags of vllm serve become the keys of the same meaning") {
  const Scenario scenario = scenario_of(
      "CUDA_VISIBLE_DEVICES=0,1 vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2 -dp 3 "
      "--max_model_len=16K --max-num-seqs 100 --max-num-batched-tokens 4k --gpu-memory-utilization 0.85 "
      "--block-size 32 --no-enable-prefix-caching --long-prefill-token-threshold 1000 --kv-cache-dtype fp8 "
      "--enforce-eager --port 8000");
  const ScenarioSpec& spec = scenario.spec();
  CHECK(spec.model == "meta-llama/Llama-3.1-8B");
  CHECK(spec.device == "h100-sxm");
  CHECK(spec.layout.tp == 2);
  CHECK(spec.replicas == 3);
  CHECK(scenario.max_model_len() == Tokens{16384});
  CHECK(spec.engine.config.max_num_seqs == 100);
  CHECK(spec.engine.config.max_num_batched_tokens == Tokens{4000});
  CHECK(spec.engine.memory_fraction == 0.85);
  CHECK(spec.engine.config.block_size == Tokens{32});
  CHECK_FALSE(spec.engine.config.prefix_caching);
  CHECK(spec.engine.config.long_prefill_token_threshold == Tokens{1000});
  CHECK(spec.engine.kv_dtype == DType::kF8E4M3);
  CHECK(spec.engine.config.graph_sizes.empty());
}

TEST_CASE("what vllm serve leaves open is what vLLM chooses on that device") {
  const Scenario large = scenario_of("vllm serve meta-llama/Llama-3.1-8B");
  CHECK(large.spec().engine.config.max_num_seqs == 1024);
  CHECK(large.spec().engine.config.max_num_batched_tokens == Tokens{8192});
  CHECK(large.spec().engine.memory_fraction == 0.9);
  CHECK(large.spec().engine.config.graph_sizes.size() == 4 + 31 + 17 - 1);
  CHECK(large.spec().engine.config.graph_sizes.back() == 512);
  const Scenario a100 = scenario_of("vllm serve meta-llama/Llama-3.1-8B", "a100-sxm");
  CHECK(a100.spec().engine.config.max_num_seqs == 256);
  CHECK(a100.spec().engine.config.max_num_batched_tokens == Tokens{2048});
}

TEST_CASE("policy and asynchronous scheduling choose preset and rules") {
  const std::string start = "python3 -m vllm.entrypoints.openai.api_server --model meta-llama/Llama-3.1-8B ";
  CHECK(scenario_of(start).spec().engine.preset == "vllm-v1");
  CHECK(scenario_of(start + "--scheduling-policy priority").spec().engine.preset == "vllm-v1-priority");
  const Scenario both = scenario_of(start + "--async-scheduling --scheduling-policy=priority");
  CHECK(both.spec().engine.preset == "vllm-v1-async");
  CHECK(both.spec().engine.rules.waiting_order == "priority");
  CHECK(both.spec().engine.rules.victim == "least_important");
  const Scenario last = scenario_of(start + "--async-scheduling --no-async-scheduling");
  CHECK(last.spec().engine.preset == "vllm-v1");
}

TEST_CASE("every word of a command is accounted for") {
  const LaunchReading reading = read_launch_command(
      "docker run --gpus all vllm/vllm-openai:v0.11.0 --model m --foo bar --host 0.0.0.0 --enable-lora "
      "--served-model-name a b --num-gpu-blocks-override 1000 --cuda-graph-sizes 1 2 4 --ssl-keyfile f stray",
      "h100-sxm");
  CHECK(reading.unknown == std::vector<std::string>{"--foo bar", "stray"});
  const std::vector<std::string> no_effect = {"--host 0.0.0.0", "--served-model-name a b", "--ssl-keyfile f"};
  CHECK(reading.no_effect == no_effect);
  REQUIRE(reading.not_modelled.size() == 1);
  CHECK(reading.not_modelled.front().rfind("--enable-lora: ", 0) == 0);
  const std::string text = scenario_text(reading, "x");
  CHECK(text.find("    num_blocks: 1000  # --num-gpu-blocks-override 1000\n") != std::string::npos);
  CHECK(text.find("memory_fraction") == std::string::npos);
  CHECK(text.find("#   --foo bar\n") != std::string::npos);
}

TEST_CASE("a command that makes no sense is refused with its place and a remedy") {
  const auto refused = [](const std::string& command, const std::string& message) {
    const std::string said = refusal([&] { read_launch_command(command, "h100-sxm"); });
    CAPTURE(command, said);
    CHECK(contains(said, message));
    CHECK(contains(said, "[CFG601]"));
  };
  refused("", "no command whose flags are known");
  refused("sleep 1", "'sleep' starts no engine");
  refused("vllm serve --port 1", "no model is named");
  refused("vllm serve m --max-num-seqs", "--max-num-seqs has no value");
  refused("vllm serve m --max-num-seqs many", "--max-num-seqs many: is no count");
  refused("vllm serve m --max-num-seqs 1.0001K", "is no count");
  refused("vllm serve m --max-num-seqs 9223372036854775807", "is no count");
  refused("vllm serve m --cuda-graph-sizes 20000000000", "is too large");
  refused("vllm serve m --enforce-eager=false", "--enforce-eager takes no value");
  refused("vllm serve m --gpu-memory-utilization 1.5", "is no share");
  refused("vllm serve m --kv-cache-dtype turbo", "is no known number format");
  refused("vllm serve m --scheduling-policy lottery", "--scheduling-policy lottery is no policy");
  CHECK(contains(refusal([] { read_launch_command("vllm serve m", ""); }), "--device NAME"));
  CHECK(contains(refusal([] { read_launch_command("vllm serve m", "h100"); }), "h100-sxm"));
}

}  // namespace
}  // namespace servetwin::launch_test
