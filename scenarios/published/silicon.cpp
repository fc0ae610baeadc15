// Closed-loop runs of three engines at fixed concurrency, mostly from the public InferenceX benchmark. Time
// per output token is scored; time to first token holds the burst of the start.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "engine/base/csv_table.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/served_case.h"

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

std::int64_t whole_or_one(const CsvTable& table, std::size_t row, const char* column) {
  return table.text(row, column).empty()
             ? 1
             : std::max<std::int64_t>(1, static_cast<std::int64_t>(table.number(row, column)));
}

class Silicon final : public PublishedSet {
 public:
  explicit Silicon(const Params& /*params*/) {}

  std::string folder() const override { return "aiconfigurator_silicon"; }
  std::string source() const override {
    return "ai-dynamo/aiconfigurator 095f58a, most rows from SemiAnalysisAI/InferenceX (both Apache-2.0)";
  }

  std::vector<PublishedFigure> predict(const PublishedOptions& options) const override {
    const CsvTable table = CsvTable::read(options.data + "/aiconfigurator_silicon/silicon.csv");
    std::vector<PublishedFigure> figures;
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      if (table.text(row, "mode") != "agg" || table.text(row, "ambiguous") != "0") continue;
      figures.push_back(predict_row(table, row, options));
      if (options.progress) options.progress(static_cast<int>(row + 1), static_cast<int>(table.num_rows()));
    }
    return figures;
  }

 private:
  static PublishedFigure predict_row(const CsvTable& table,
                                     std::size_t row,
                                     const PublishedOptions& options) {
    const std::string& engine = table.text(row, "engine");
    const std::string& model = table.text(row, "model");
    PublishedFigure figure;
    figure.group = model + ", " + engine;
    figure.condition = table.text(row, "id");
    const bool experts = model.find("Llama") == std::string::npos && model.find("32B") == std::string::npos;
    figure.metric = std::string("tpot_ms, ") + (experts ? "experts" : "dense");
    figure.measured = table.number(row, "tpot_ms");
    try {
      figure.predicted = ms(simulate_case(case_of(table, row), options.set, 1).tpot.distribution().mean);
    } catch (const ConfigError& error) {
      figure.note = error.what();
    }
    return figure;
  }

  // One group of ranks that computes attention for its own requests, all others doing the same.
  static ServedCase case_of(const CsvTable& table, std::size_t row) {
    const std::string& engine = table.text(row, "engine");
    const std::string& precision = table.text(row, "precision");
    const std::int64_t input = table.whole(row, "isl");
    const std::int64_t output = table.whole(row, "osl");
    const std::int64_t dp = whole_or_one(table, row, "attn_dp");
    const std::int64_t ranks = whole_or_one(table, row, "tp") * dp;
    const std::int64_t users = std::max<std::int64_t>(1, table.whole(row, "concurrency") / dp);
    ServedCase one;
    one.name = "silicon";
    one.model = silicon_model(table.text(row, "model"));
    one.device = silicon_device(table.text(row, "hardware"));
    one.layout = fmt::format("{{tp: {}}}", ranks);
    std::string formats;
    if (precision == "fp4") formats = ", dtype: nvfp4";
    if (precision == "fp8") formats = ", dtype: f8e4m3";
    if (engine == "trtllm" && !formats.empty()) formats += ", kv_dtype: f8e4m3";
    one.engine = fmt::format(
        "preset: vllm-v1-async, max_num_seqs: 1024, max_num_batched_tokens: 8192, max_model_len: {}, "
        "num_blocks: "
        "1000000{}, graph_sizes: [1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024]",
        input + output, formats);
    one.workload = fmt::format(
        "num_requests: {}, closed_loop: {{users: {}}}, lengths: {{input: {{distribution: uniform, low: {}, "
        "high: {}}}, "
        "output: {{distribution: uniform, low: {}, high: {}}}}}, max_tokens: output",
        std::min<std::int64_t>(users * 10, users * 4 + 200), users, input * 4 / 5, input, output * 4 / 5,
        output);
    one.cost = fmt::format("model: hybrid, engine: {}, attention_dp: {}, ep: {}, fp8_scales: {}",
                           silicon_engine(engine), dp, whole_or_one(table, row, "moe_ep"),
                           has_block_scales(one.model) ? "block" : "channel");
    return one;
  }
};

const Registered<PublishedSet, Silicon> kSilicon{"silicon",
                                                 "TensorRT-LLM, SGLang and vLLM in closed loops: TPOT."};

}  // namespace
}  // namespace servetwin
