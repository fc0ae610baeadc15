// vLLM 0.19 with recorded requests, on the profiler's own tables of the very GPU: what remains is the engine.
#include <fmt/format.h>

#include "engine/base/csv_table.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/served_case.h"

namespace servetwin {
namespace {

struct Twin {
  const char* name;  // the folder's
  const char* tables;
  const char* device;
  int max_num_seqs;
  const char* capacity;  // what the publication tells of KV blocks
};

constexpr Twin kTwins[] = {{"RTX4090__Llama-3.1-8B", "RTX4090__meta-llama__Llama-3.1-8B__bf16__tp1__",
                            "rtx-4090", 256, "num_blocks: 2588"},
                           {"RTXPRO6000__Llama-3.1-8B", "RTXPRO6000__meta-llama__Llama-3.1-8B__bf16__tp1__",
                            "rtx-pro-6000-server", 128, "memory_fraction: 0.9"}};

struct Recorded {
  ServedLatencies latencies;
  std::string trace = "arrival_us,input_tokens,output_tokens\n";
};

std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9 + 0.5); }

// As the engine saw it: from its queue on, where its own clock starts.
Recorded read(const std::string& folder) {
  const CsvTable table = CsvTable::read(folder + "/requests.csv");
  Recorded recorded;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const double arrival = table.number(row, "arrival_s");
    const double first = table.number(row, "first_token_s");
    const double last = table.number(row, "last_token_s");
    const std::int64_t outputs = table.whole(row, "output_tokens");
    recorded.latencies.ttft.add(ns(first - arrival));
    recorded.latencies.e2e.add(ns(last - arrival));
    if (outputs > 1) recorded.latencies.tpot.add(ns((last - first) / static_cast<double>(outputs - 1)));
    recorded.trace += fmt::format("{},{},{}\n", ns(arrival) / 1000, table.text(row, "input_tokens"), outputs);
  }
  return recorded;
}

class LlmServingSim final : public PublishedSet {
 public:
  explicit LlmServingSim(const Params& /*params*/) {}

  std::string folder() const override { return "llmservingsim"; }
  std::string source() const override { return "casys-kaist/LLMServingSim 5daddb2 (MIT)"; }

  std::vector<PublishedFigure> predict(const PublishedOptions& options) const override {
    std::vector<PublishedFigure> figures;
    RowChoice choice(options);
    for (const Twin& twin : kTwins) {
      if (!choice.takes(twin.name)) continue;
      const std::string folder = options.data + "/llmservingsim/";
      const Recorded recorded = read(folder + "measured_vllm/" + twin.name);
      const CaseFile trace(recorded.trace);
      ServedCase one;
      one.name = twin.name;
      one.model = "meta-llama/Llama-3.1-8B";
      one.device = twin.device;
      one.engine = fmt::format(
          "preset: vllm-v1-async, max_num_seqs: {}, max_num_batched_tokens: 2048, max_model_len: 32768, {}",
          twin.max_num_seqs, twin.capacity);
      one.workload = "trace: {file: " + trace.path() + "}, max_tokens: output";
      one.cost =
          fmt::format("model: layer_tables, tables: {}op_profile/{}, engine: vllm-0.19", folder, twin.tables);
      add(figures, one, recorded.latencies, options);
    }
    return figures;
  }

 private:
  static void add(std::vector<PublishedFigure>& figures,
                  const ServedCase& one,
                  const ServedLatencies& measured,
                  const PublishedOptions& options) {
    ServedLatencies ours;
    std::string refused;
    try {
      ours = simulate_case(one, options.set, 1);
    } catch (const ConfigError& error) {
      refused = error.what();
    }
    const auto figure = [&](const char* metric, const Samples& of, const Samples& prediction, bool p90) {
      PublishedFigure f;
      f.group = one.name;
      f.condition = one.name;
      f.metric = metric;
      const Distribution theirs = of.distribution();
      f.measured = ms(p90 ? theirs.p90() : theirs.mean);
      f.note = refused;
      const Distribution mine = prediction.distribution();
      if (refused.empty()) f.predicted = ms(p90 ? mine.p90() : mine.mean);
      figures.push_back(f);
    };
    figure("ttft_mean_ms", measured.ttft, ours.ttft, false);
    figure("ttft_p90_ms", measured.ttft, ours.ttft, true);
    figure("tpot_mean_ms", measured.tpot, ours.tpot, false);
    figure("tpot_p90_ms", measured.tpot, ours.tpot, true);
    figure("e2e_mean_ms", measured.e2e, ours.e2e, false);
    figure("e2e_p90_ms", measured.e2e, ours.e2e, true);
  }
};

const Registered<PublishedSet, LlmServingSim> kLlmServingSim{
    "llmservingsim", "vLLM 0.19 on RTX 4090 and RTX PRO 6000, on profiled tables."};

}  // namespace
}  // namespace servetwin
