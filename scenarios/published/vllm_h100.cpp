// vLLM 0.15.1 under Poisson load of prompts that repeat. What decides a prediction, found by others before us:
// whole prompts come back and lie in the prefix cache, two steps are in flight, nobody waits for an answer.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "engine/base/csv_table.h"
#include "engine/base/params.h"
#include "engine/base/unit_text.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/served_case.h"

namespace servetwin {
namespace {

constexpr double kRetokenised = 1.05;  // prompts are about 5 % longer than their nominal length

struct Stage {
  double rate = 0;
  double seconds = 0;
};

// "2.5rps x 600s;6.0rps x 600s"
std::vector<Stage> stages_of(const std::string& text) {
  std::vector<Stage> stages;
  std::size_t at = 0;
  while (at < text.size()) {
    Stage stage;
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string part = text.substr(at, end - at);
    stage.rate = *parse_decimal(part.substr(0, part.find("rps"))).value;
    const std::size_t from = part.find("x ") + 2;
    stage.seconds = *parse_decimal(part.substr(from, part.size() - from - 1)).value;
    stages.push_back(stage);
    at = end + 1;
  }
  return stages;
}

ServedCase case_of(const CsvTable& table, std::size_t row, const Stage& stage, bool first) {
  const auto whole = [&](const char* column) { return table.whole(row, column); };
  const std::int64_t users = whole("num_system_prompts") * whole("users_per_system_prompt");
  const double own = static_cast<double>(whole("system_prompt_len") + whole("question_len"));
  const auto prompt = static_cast<std::int64_t>(own * kRetokenised + 0.5);
  ServedCase one;
  one.name = table.text(row, "experiment");
  one.model = table.text(row, "model");
  one.device = "h100-sxm";
  one.layout = fmt::format("{{tp: {}}}", whole("tp"));
  one.engine = fmt::format(
      "preset: vllm-v1-async, max_num_seqs: {}, max_num_batched_tokens: {}, num_blocks: {}, max_model_len: "
      "4096, graph_sizes: [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, "
      "144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248, 256]",
      whole("max_num_seqs"), whole("max_num_batched_tokens"), whole("kv_blocks_of_16"));
  // All but the last token of a prompt are its group's. A later stage finds the cache filled: one minute of
  // its own load stands for what came before.
  const double lead = first ? 0 : 60;
  const auto requests = static_cast<std::int64_t>(stage.rate * (stage.seconds + lead) + 0.5);
  one.workload = fmt::format(
      "num_requests: {}, arrivals: {{process: poisson, rate: {}/s, normalize: true}}, lengths: {{input: 1, "
      "output: {}}}, max_tokens: output, shared_prefix: {{count: {}, tokens: {}}}",
      requests, stage.rate, whole("output_len"), users, prompt - 1);
  one.cost = "model: hybrid, engine: vllm-0.15";
  one.others = fmt::format("  run: {{warmup: {}s}}\n  front_end: {{servers: 64, per_request: 4010us, per_output: 1720us}}\n", lead);
  return one;
}

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
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
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
    const std::vector<Stage> stages = stages_of(table.text(row, "stages"));
    const std::string& which = table.text(row, "stage");
    try {
      for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        if (which != "all" && which != std::to_string(stage)) continue;
        const ServedCase one = case_of(table, row, stages[stage], stage == 0);
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
    figure.condition =
        figure.group + " tp " + table.text(row, "tp") + ", stage " + table.text(row, "stage");
    figure.metric = table.text(row, "metric");
    figure.measured = table.number(row, "measured");
    figure.note = run.refused;
    const double outputs = table.number(row, "output_len");
    if (run.refused.empty()) figure.predicted = figure_of(run.latencies, figure.metric, outputs);
    for (const char* other : {"blis_roofline", "blis_evolved", "llm_optimizer_estimate",
                              "aiconfigurator_estimate", "vidur"}) {
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
