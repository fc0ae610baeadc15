// TensorRT-LLM's published offline throughput: all requests are there at the start, lengths are fixed.
#include <fmt/format.h>
#include <map>

#include "engine/base/csv_table.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/served_case.h"

namespace servetwin {
namespace {

// Names of the publication to ours; what is missing cannot be predicted.
const std::map<std::string, std::string>& devices() {
  static const std::map<std::string, std::string> kDevices{{"A100 SXM 80GB", "a100-sxm"},
                                                           {"H100 SXM 80GB", "h100-sxm"},
                                                           {"H200 SXM 141GB", "h200-sxm"},
                                                           {"L40S", "l40s"}};
  return kDevices;
}

const std::map<std::string, std::string>& models() {
  static const std::map<std::string, std::string> kModels{
      {"Llama-3.1-8B", "meta-llama/Llama-3.1-8B"},
      {"Llama-3.1-70B", "meta-llama/Llama-3.1-70B"},
      {"Llama-3.3-70B", "meta-llama/Llama-3.3-70B-Instruct"},
      {"Llama-3.1-405B", "meta-llama/Llama-3.1-405B"},
      {"Llama-4-Scout-17B-16E", "meta-llama/Llama-4-Scout-17B-16E-Instruct"},
      {"Mistral-7B", "mistralai/Mistral-7B-Instruct-v0.3"},
      {"Mixtral-8x7B", "mistralai/Mixtral-8x7B-v0.1"},
      {"Mixtral-8x22B", "mistralai/Mixtral-8x22B-v0.1"}};
  return kModels;
}

// As many requests as the publication says it took for these lengths.
int requests_for(std::int64_t input, std::int64_t output) {
  if (input == 128 && output == 128) return 30'000;
  if (input >= 20'000) return 1'000;
  return input + output <= 2'500 && output != 4'096 ? 3'000 : 1'500;
}

class TrtllmOverview final : public PublishedSet {
 public:
  explicit TrtllmOverview(const Params& /*params*/) {}

  std::string folder() const override { return "trtllm_perf_overview"; }
  std::string source() const override {
    return "NVIDIA/TensorRT-LLM performance overview, versions 0.14, 0.17 and 1.0 (Apache-2.0)";
  }

  std::vector<PublishedFigure> predict(const PublishedOptions& options) const override {
    const CsvTable table = CsvTable::read(options.data + "/trtllm_perf_overview/offline_throughput.csv");
    std::vector<PublishedFigure> figures;
    RowChoice choice(options);
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      PublishedFigure figure = described(table, row);
      if (!choice.takes(figure.group)) continue;
      const auto device = devices().find(table.text(row, "hardware"));
      const auto model = models().find(table.text(row, "model"));
      if (device == devices().end() || model == models().end()) {
        figure.scored = false;
        figure.note = "no such device or model in the catalogue";
      } else {
        run(table, row, device->second, model->second, options, figure);
      }
      figures.push_back(std::move(figure));
      if (options.progress) options.progress(static_cast<int>(row + 1), static_cast<int>(table.num_rows()));
    }
    return figures;
  }

 private:
  static PublishedFigure described(const CsvTable& table, std::size_t row) {
    PublishedFigure figure;
    figure.group = table.text(row, "model") + ' ' + table.text(row, "precision");
    figure.condition = fmt::format("{} {} {} tp {}, {} in {} out", table.text(row, "hardware"),
                                   table.text(row, "model"), table.text(row, "precision"),
                                   table.text(row, "tp"), table.text(row, "isl"), table.text(row, "osl"));
    figure.metric = "output tokens/s, version " + table.text(row, "version");
    figure.measured = table.number(row, "value");
    return figure;
  }

  static void run(const CsvTable& table,
                  std::size_t row,
                  const std::string& device,
                  const std::string& model,
                  const PublishedOptions& options,
                  PublishedFigure& figure) {
    const std::int64_t input = table.whole(row, "isl");
    const std::int64_t output = table.whole(row, "osl");
    const bool fp8 = table.text(row, "precision") == "FP8";
    ServedCase one;
    one.name = "trtllm";
    one.model = model;
    one.device = device;
    one.layout = fmt::format("{{tp: {}}}", table.text(row, "tp"));
    one.engine = fmt::format(
        "preset: trtllm-guaranteed-no-evict, max_num_seqs: 2048, max_num_batched_tokens: 8192, "
        "max_model_len: "
        "{}, memory_fraction: 0.95, memory: {{of: free, activations: 2GiB}}, graph_sizes: [1, 2, 4, 8, 16, "
        "32, 64, 128, 256, "
        "384, 512, 1024, 2048]{}",
        input + output, fp8 ? ", dtype: f8e4m3, kv_dtype: f8e4m3" : "");
    one.workload = fmt::format(
        "num_requests: {}, arrivals: {{process: all_at_once}}, lengths: {{input: {}, output: {}}}, "
        "max_tokens: output",
        requests_for(input, output), input, output);
    one.cost = "model: hybrid, engine: tensorrt-llm";
    try {
      const ServedLatencies latencies = simulate_case(one, options.set, 1);
      figure.predicted = static_cast<double>(latencies.outputs) / latencies.seconds;
    } catch (const ConfigError& error) {
      figure.note = error.what();
    }
  }
};

const Registered<PublishedSet, TrtllmOverview> kTrtllmOverview{
    "trtllm-overview", "TensorRT-LLM: offline throughput of dense models and Mixtral."};

}  // namespace
}  // namespace servetwin
