// Closed-loop runs of three engines at fixed concurrency, mostly from the public InferenceX benchmark. Time
// per output token is scored; time to first token holds the burst of the start.

#include "engine/base/csv_table.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/silicon_case.h"

namespace servetwin {
namespace {

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
    RowChoice choice(options);
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      if (table.text(row, "mode") != "agg" || table.text(row, "ambiguous") != "0") continue;
      if (!choice.takes(silicon_group(table, row))) continue;
      figures.push_back(predict_row(table, row, options));
      if (options.progress) options.progress(static_cast<int>(row + 1), static_cast<int>(table.num_rows()));
    }
    return figures;
  }

 private:
  static PublishedFigure predict_row(const CsvTable& table,
                                     std::size_t row,
                                     const PublishedOptions& options) {
    const std::string& model = table.text(row, "model");
    PublishedFigure figure;
    figure.group = silicon_group(table, row);
    figure.condition = table.text(row, "id");
    const bool experts = model.find("Llama") == std::string::npos && model.find("32B") == std::string::npos;
    figure.metric = std::string("tpot_ms, ") + (experts ? "experts" : "dense");
    figure.measured = table.number(row, "tpot_ms");
    if (is_speculative(table, row)) {
      figure.scored = false;
      figure.note = "ran with multi-token prediction, which is not simulated";
    }
    try {
      figure.predicted = ms(simulate_case(silicon_case(table, row), options.set, 1).tpot.distribution().mean);
    } catch (const ConfigError& error) {
      figure.note = error.what();
    }
    return figure;
  }
};

const Registered<PublishedSet, Silicon> kSilicon{"silicon",
                                                 "TensorRT-LLM, SGLang and vLLM in closed loops: TPOT."};

}  // namespace
}  // namespace servetwin
