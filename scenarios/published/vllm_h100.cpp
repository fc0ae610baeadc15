// vLLM 0.15.1 under Poisson load of prompts that repeat.
#include <map>
#include <utility>

#include "engine/base/csv_table.h"
#include "engine/base/params.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/vllm_h100_cases.h"

namespace servetwin {
namespace {

std::optional<double> figure_of(const ServedLatencies& run, const std::string& metric, double outputs) {
  const Distribution ttft = run.ttft.distribution();
  const Distribution e2e = run.e2e.distribution();
  if (metric == "itl_mean_ms") return (ms(e2e.mean) - ms(ttft.mean)) / (outputs - 1);
  const Distribution& of = metric.substr(0, 4) == "ttft" ? ttft : e2e;
  if (metric.find("mean") != std::string::npos) return ms(of.mean);
  if (metric.find("p90") != std::string::npos) return ms(of.p90());
  if (metric.find("p99") != std::string::npos) return ms(of.p99());
  return std::nullopt;
}

class VllmH100 final : public PublishedSet {
 public:
  explicit VllmH100(const Params& /*params*/) {}

  std::string folder() const override { return "vllm-h100"; }
  std::string source() const override {
    return "inference-sim/sim-to-real-accuracy-validation dcec3fd and inference-sim/inference-sim f90a1e3a "
           "(Apache-2.0)";
  }

  std::vector<PublishedFigure> predict(const PublishedOptions& options) const override {
    const CsvTable table = CsvTable::read(options.data + "/vllm-h100/serving.csv");
    std::map<std::pair<std::string, std::string>, Outcome> runs;  // by experiment and stage
    std::vector<PublishedFigure> figures;
    RowChoice choice(options);
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      if (!choice.takes(table.text(row, "model"))) continue;
      const std::pair key{table.text(row, "experiment"), table.text(row, "stage")};
      if (runs.find(key) == runs.end()) runs.emplace(key, run(table, row, options));
      figures.push_back(figure(table, row, runs.at(key)));
      if (options.progress) options.progress(static_cast<int>(row + 1), static_cast<int>(table.num_rows()));
    }
    return figures;
  }

 private:
  struct Outcome {
    ServedLatencies latencies;
    std::string refused{};
  };

  static Outcome run(const CsvTable& table, std::size_t row, const PublishedOptions& options) {
    Outcome outcome;
    const std::vector<LoadStage> stages = stages_of(table.text(row, "stages"));
    const std::string& which = table.text(row, "stage");
    try {
      for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        if (which != "all" && which != std::to_string(stage)) continue;
        const ServedCase one = vllm_h100_case(table, row, stages[stage], stage == 0);
        outcome.latencies.merge(simulate_case_often(one, options.set, options.seeds));
      }
    } catch (const ConfigError& error) {
      outcome.refused = error.what();
    }
    return outcome;
  }

  static PublishedFigure figure(const CsvTable& table, std::size_t row, const Outcome& run) {
    PublishedFigure figure;
    figure.group = table.text(row, "model");
    figure.condition = figure.group + " tp " + table.text(row, "tp") + ", stage " + table.text(row, "stage");
    figure.metric = table.text(row, "metric");
    figure.measured = table.number(row, "measured");
    figure.note = run.refused;
    const double outputs = table.number(row, "output_len");
    if (run.refused.empty()) figure.predicted = figure_of(run.latencies, figure.metric, outputs);
    for (const char* other :
         {"blis_roofline", "blis_evolved", "llm_optimizer_estimate", "aiconfigurator_estimate", "vidur"}) {
      const std::size_t column = table.column(std::string("pred_") + other);
      if (!table.is_blank(row, column)) figure.others.emplace_back(other, table.number(row, column));
    }
    mark_unscored(figure);
    return figure;
  }

  static void mark_unscored(PublishedFigure& figure) {
    if (figure.metric.find("p99") != std::string::npos) {
      figure.scored = false;
      figure.note = "start-up decides the p99";
    }
    if (figure.metric == "itl_mean_ms" && figure.group == "meta-llama/Llama-2-7b-hf") {
      figure.scored = false;
      figure.note = "its answers were recounted 22 % too short, which makes this figure 27 % high";
    }
  }
};

const Registered<PublishedSet, VllmH100> kVllmH100{"vllm-h100",
                                                   "vLLM 0.15.1 on H100: TTFT, ITL and E2E of six runs."};

}  // namespace
}  // namespace servetwin
