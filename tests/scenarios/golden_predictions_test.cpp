// If this fails, a prediction moved: a step's time, its evidence or a KV pool. Where that was meant, copy the
// file that the failure names over golden_predictions.csv, and say in the change why they moved.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "engine/metrics/output_file.h"
#include "scenarios/assemble.h"
#include "tests/costmodels/cost_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::golden_predictions_test {
namespace {

struct Case {
  const char* model;
  const char* device;
  int tp;
  const char* engine;  // besides preset and memory
  const char* cost;
};

// Each profile of the catalogue, each set of an engine's times, each kind of kernel, own and borrowed.
constexpr Case kCases[] = {
    {"meta-llama/Llama-3.1-8B", "h100-sxm", 1, "", "model: hybrid, engine: vllm-0.15"},
    {"meta-llama/Llama-3.1-8B", "h100-sxm", 1, "", "model: analytic"},
    {"meta-llama/Llama-3.1-8B", "a100-sxm", 1, "", "model: hybrid, engine: vllm-0.15"},
    {"meta-llama/Llama-3.1-8B", "l40s", 1, "", "model: hybrid, engine: vllm-0.19"},
    {"meta-llama/Llama-3.1-8B", "rtx-4090", 1, "", "model: hybrid, engine: vllm-0.19"},
    {"meta-llama/Llama-3.1-70B", "h100-sxm", 8, "", "model: hybrid, engine: vllm-0.15"},
    {"meta-llama/Llama-3.1-70B", "h200-sxm", 4, ", dtype: f8e4m3, kv_dtype: f8e4m3",
     "model: hybrid, engine: tensorrt-llm"},
    {"meta-llama/Llama-3.1-70B", "b200-sxm", 2, ", dtype: nvfp4", "model: hybrid, engine: tensorrt-llm"},
    {"Qwen/Qwen3-32B", "h100-sxm", 2, ", dtype: f8e4m3", "model: hybrid, engine: sglang, fp8_scales: block"},
    {"mistralai/Mixtral-8x7B-v0.1", "a100-sxm", 4, "", "model: hybrid, engine: vllm-0.15"},
    {"mistralai/Mixtral-8x7B-v0.1", "h100-sxm", 2, "", "model: hybrid, engine: vllm-0.15"},
    {"deepseek-ai/DeepSeek-V3", "h200-sxm", 8, ", dtype: f8e4m3",
     "model: hybrid, engine: sglang, attention_dp: 8, ep: 8, fp8_scales: block"},
    {"deepseek-ai/DeepSeek-V3", "h200-sxm", 8, ", dtype: f8e4m3",
     "model: hybrid, engine: tensorrt-llm, fp8_scales: block"},
};

struct NamedShape {
  const char* name;
  TestStep step;
};

std::vector<NamedShape> shapes() {
  TestStep nothing;
  return {{"1 decode at 500", decode_shape(1, 500)},
          {"64 decodes at 2000", decode_shape(64, 2000)},
          {"256 decodes at 1000", decode_shape(256, 1000)},
          {"a prompt of 128", with_prefill(nothing, 128, 0)},
          {"a prompt of 2048", with_prefill(nothing, 2048, 0)},
          {"a chunk of 1024 after 7168", with_prefill(nothing, 1024, 7168)},
          {"512 beside 48 decodes at 1500", with_prefill(decode_shape(48, 1500), 512, 0)}};
}

std::string evidence_of(const StepCost& cost) {
  std::string letters;
  for (const OpCost& op : cost.ops) letters += op.ns > 0 ? to_string(op.evidence)[0] : '-';
  return letters;
}

std::string predictions() {
  std::string text =
      "model,device,tp,engine,cost,what,value,evidence of gemm to host\n# of steps: ns; of pools: blocks\n";
  for (const Case& one : kCases) {
    const std::string name =
        fmt::format("\"{}\",{},{},\"{}\",\"{}\"", one.model, one.device, one.tp, one.engine, one.cost);
    const Scenario scenario = parse_scenario(
        fmt::format(
            "apiVersion: servetwin/v1\nkind: Scenario\nmetadata: {{name: golden}}\nspec:\n  model: {}\n"
            "  device: {}\n  layout: {{tp: {}}}\n  engine: {{preset: vllm-v1-async, max_model_len: 8192, "
            "memory_fraction: 0.9{}}}\n  workload: {{num_requests: 1, arrivals: {{process: constant, rate: "
            "1/s}}, lengths: {{input: 10, output: 10}}, max_tokens: output}}\n  cost: {{{}}}\n",
            one.model, one.device, one.tp, one.engine, one.cost),
        "golden", {});
    text += fmt::format("{},KV pool,{},\n", name, engine_config(scenario).num_blocks.value);
    const RunParts parts = assemble(scenario);
    for (const NamedShape& shape : shapes()) {
      const StepCost cost = cost_of(*parts.cost, shape.step);
      text += fmt::format("{},{},{},{}\n", name, shape.name, cost.total.count(), evidence_of(cost));
    }
  }
  return text;
}

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("no prediction moves unless its golden value is moved on purpose") {
  const std::string ours = predictions();
  const std::string golden =
      file_text(std::string(SERVETWIN_SOURCE_DIR) + "/tests/scenarios/golden_predictions.csv");
  if (ours == golden) return;
  const std::string written = std::string(SERVETWIN_BINARY_DIR) + "/golden_predictions.csv";
  write_file(written, ours);
  std::istringstream mine(ours);
  std::istringstream theirs(golden);
  std::string now;
  std::string then;
  int moved = 0;
  while (std::getline(mine, now)) {
    if (!std::getline(theirs, then)) then = "nothing";
    if (now == then) continue;
    if (++moved <= 5) UNSCOPED_INFO("was: " << then << "\nnow: " << now);
  }
  FAIL(moved << " predictions moved or are new; all of them now: " << written);
}

}  // namespace
}  // namespace servetwin::golden_predictions_test
