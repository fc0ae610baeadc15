// The publication's words for engines, devices, models and layouts, put into ours.
#include "scenarios/published/silicon_case.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace servetwin {
namespace {

std::string silicon_engine(const std::string& engine) {
  if (engine == "vllm") return "vllm-0.15";
  return engine == "sglang" ? "sglang" : "tensorrt-llm";
}

std::string silicon_device(std::string hardware) {
  std::replace(hardware.begin(), hardware.end(), '_', '-');
  return hardware;
}

// The catalogue's name where the publication has another.
std::string silicon_model(const std::string& model) {
  static const std::map<std::string, std::string> kNames{
      {"nvidia/DeepSeek-V3.1-NVFP4", "deepseek-ai/DeepSeek-V3"},
      {"nvidia/Qwen3-32B-NVFP4", "Qwen/Qwen3-32B"}};
  const auto found = kNames.find(model);
  return found == kNames.end() ? model : found->second;
}

bool has_block_scales(const std::string& model) {
  for (const char* name : {"DeepSeek", "Qwen3-235B", "MiniMax"}) {
    if (model.find(name) != std::string::npos) return true;
  }
  return false;
}

// Published in one format alone, whatever the columns call it.
bool has_own_format(const std::string& model) { return model.find("gpt-oss") != std::string::npos; }

// What each engine means by its share of memory; attention for each rank's own requests has room enough.
std::string silicon_memory(const std::string& engine, std::int64_t attention_dp) {
  if (attention_dp > 1) return "num_blocks: 1000000";
  if (engine == "sglang") return "memory_fraction: 0.9, memory: {of: static}";
  return engine == "trtllm" ? "memory_fraction: 0.9, memory: {of: free}" : "memory_fraction: 0.9";
}

std::int64_t whole_or_one(const CsvTable& table, std::size_t row, const char* column) {
  return table.text(row, column).empty()
             ? 1
             : std::max<std::int64_t>(1, static_cast<std::int64_t>(table.number(row, column)));
}

// InferenceX draws lengths from 80 to 100 % of the nominal ones and asks for temperature 0; the makers' own
// sweeps have fixed lengths, and what they ask for is not known. A file's date tells them apart: those sweeps
// are named after a model.
bool is_inferencex(const std::string& source) {
  return source.starts_with("db-dump/") || source.starts_with("source_file=20");
}

std::string silicon_length(const std::string& source, std::int64_t nominal) {
  return is_inferencex(source)
             ? fmt::format("{{distribution: uniform, low: {}, high: {}}}", nominal * 4 / 5, nominal)
             : std::to_string(nominal);
}

}  // namespace

SiliconRanks silicon_ranks(std::int64_t tp,
                           std::int64_t attention_dp,
                           std::int64_t moe_tp,
                           std::int64_t moe_ep) {
  constexpr std::int64_t kNode = 8;
  for (std::int64_t n = 2; n <= kNode && tp * attention_dp > kNode; ++n) {
    if (moe_tp * moe_ep == n * n) return {n, attention_dp > 1 ? n : 1, n};
  }
  return {tp * attention_dp, attention_dp, moe_ep};
}

bool is_speculative(const CsvTable& table, std::size_t row) {
  if (table.text(row, "engine") != "trtllm" || table.text(row, "model") != "deepseek-ai/DeepSeek-R1")
    return false;
  const std::string& version = table.text(row, "engine_version");
  return version == "1.2.0rc6.post3" ||
         (version == "1.1.0rc2.post2" && table.text(row, "measured") >= "2026");
}

std::string silicon_group(const CsvTable& table, std::size_t row) {
  return table.text(row, "model") + ", " + table.text(row, "engine");
}

ServedCase silicon_case(const CsvTable& table, std::size_t row) {
  const std::string& engine = table.text(row, "engine");
  const std::string& precision = table.text(row, "precision");
  const std::int64_t input = table.whole(row, "isl");
  const std::int64_t output = table.whole(row, "osl");
  const SiliconRanks ranks =
      silicon_ranks(whole_or_one(table, row, "tp"), whole_or_one(table, row, "attn_dp"),
                    whole_or_one(table, row, "moe_tp"), whole_or_one(table, row, "moe_ep"));
  const std::int64_t users = std::max<std::int64_t>(1, table.whole(row, "concurrency") / ranks.attention_dp);
  ServedCase one;
  one.name = "silicon";
  one.model = silicon_model(table.text(row, "model"));
  one.device = silicon_device(table.text(row, "hardware"));
  one.layout = fmt::format("{{tp: {}}}", ranks.all);
  std::string formats;
  if (precision == "fp4") formats = ", dtype: nvfp4";
  if (precision == "fp8") formats = ", dtype: f8e4m3";
  if (has_own_format(one.model)) formats = ", dtype: mxfp4";
  if (engine == "trtllm" && !formats.empty()) formats += ", kv_dtype: f8e4m3";
  one.engine = fmt::format(
      "preset: vllm-v1-async, max_num_seqs: {}, max_num_batched_tokens: 8192, max_model_len: {}, {}{}, "
      "graph_sizes: [1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024]",
      std::min<std::int64_t>(users, 1024), input + output, silicon_memory(engine, ranks.attention_dp),
      formats);
  const std::string& source = table.text(row, "source");
  one.workload = fmt::format(
      "num_requests: {}, closed_loop: {{users: {}}}, lengths: {{input: {}, output: {}}}, max_tokens: "
      "output",
      std::min<std::int64_t>(users * 10, users * 4 + 200), users, silicon_length(source, input),
      silicon_length(source, output));
  one.cost = fmt::format("model: hybrid, engine: {}, attention_dp: {}, ep: {}, fp8_scales: {}, sampler: {}",
                         silicon_engine(engine), ranks.attention_dp, ranks.ep,
                         has_block_scales(one.model) ? "block" : "channel",
                         is_inferencex(source) ? "greedy" : "filtered");
  return one;
}

}  // namespace servetwin
