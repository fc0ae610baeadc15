// Sizes of KV pools that engines printed at their start, against those of the memory model.
#include <fmt/format.h>
#include <set>

#include "engine/base/csv_table.h"
#include "scenarios/assemble.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/served_case.h"

namespace servetwin {
namespace {

// As far as memory is concerned.
struct Printed {
  std::string name;
  std::string model;
  std::string device;
  std::string engine;  // whose memory it takes
  std::int64_t tp = 1;
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  std::int64_t blocks = 0;
  std::string unlike{};  // why the model cannot know; empty: it is scored
};

class KvBlocks final : public PublishedSet {
 public:
  explicit KvBlocks(const Params& /*params*/) {}

  std::string folder() const override { return "vllm-h100"; }
  std::string source() const override {
    return "blocks of 16 tokens that vLLM printed at 0.9 of the device, in vllm-h100 and llmservingsim";
  }

  std::vector<PublishedFigure> predict(const PublishedOptions& options) const override {
    std::vector<PublishedFigure> figures;
    RowChoice choice(options);
    for (const Printed& one : printed(options.data)) {
      if (choice.takes(one.model)) figures.push_back(figure_of(one, options.set));
    }
    return figures;
  }

 private:
  static std::vector<Printed> printed(const std::string& data) {
    const CsvTable table = CsvTable::read(data + "/vllm-h100/serving.csv");
    std::vector<Printed> all;
    std::set<std::string> seen;
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      const std::string& model = table.text(row, "model");
      if (!seen.insert(model).second) continue;
      const auto whole = [&](const char* column) { return table.whole(row, column); };
      all.push_back({fmt::format("{}, tp {}", model, whole("tp")), model, "h100-sxm", "vllm-0.15",
                     whole("tp"), whole("max_num_seqs"), whole("max_num_batched_tokens"),
                     whole("kv_blocks_of_16")});
      if (model.find("Llama-4") != std::string::npos)
        all.back().unlike = "its vision tower, and the memory of encoding an image, are not in its shapes";
    }
    // Of llmservingsim's meta.json.
    all.push_back({"meta-llama/Llama-3.1-8B on RTX 4090", "meta-llama/Llama-3.1-8B", "rtx-4090", "vllm-0.19",
                   1, 256, 2048, 2588});
    return all;
  }

  static PublishedFigure figure_of(const Printed& one, const std::vector<std::string>& set) {
    PublishedFigure figure;
    figure.group = one.model;
    figure.condition = one.name;
    figure.metric = "KV blocks";
    figure.measured = static_cast<double>(one.blocks);
    figure.scored = one.unlike.empty();
    figure.note = one.unlike;
    ServedCase memory;
    memory.name = "kv_blocks";
    memory.model = one.model;
    memory.device = one.device;
    memory.layout = fmt::format("{{tp: {}}}", one.tp);
    memory.engine = fmt::format(
        "preset: vllm-v1-async, max_num_seqs: {}, max_num_batched_tokens: {}, max_model_len: 4096, "
        "memory_fraction: 0.9",
        one.rows, one.tokens);
    memory.workload =
        "num_requests: 1, arrivals: {process: all_at_once}, lengths: {input: 1, output: 1}, max_tokens: "
        "output";
    memory.cost = "model: hybrid, engine: " + one.engine;
    try {
      const Scenario scenario = parse_scenario(scenario_text(memory), memory.name, {set, {}});
      figure.predicted = static_cast<double>(engine_config(scenario).num_blocks.value);
    } catch (const ConfigError& error) {
      figure.note = error.what();
    }
    return figure;
  }
};

const Registered<PublishedSet, KvBlocks> kKvBlocks{"kv-blocks", "Sizes of KV pools that vLLM printed."};

}  // namespace
}  // namespace servetwin
