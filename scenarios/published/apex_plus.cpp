// vLLM 0.6 on 8 H100s: recorded arrivals at half a request a second and less, one server process a row.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "engine/base/csv_table.h"
#include "scenarios/published/published_set.h"
#include "scenarios/published/served_case.h"

namespace servetwin {
namespace {

// The process's own share of the requests. What chat templates added to prompts is spread over them, and
// answers are shortened alike where some stopped early, for nobody says which.
std::string apex_trace(const CsvTable& runs, std::size_t row, const std::string& folder) {
  const std::string& name = runs.text(row, "trace");  // llama_lmsys_025: of the trace at 0.5 requests/s
  const std::size_t rate = name.rfind('_');
  const double slower = name.substr(rate) == "_025" ? 2 : 1;
  const CsvTable trace = CsvTable::read(folder + "/trace_" + name.substr(0, rate) + "_05.csv");
  const auto replicas = static_cast<std::size_t>(runs.whole(row, "dp"));
  const auto replica =
      static_cast<std::size_t>(runs.text(row, "replica").empty() ? 0 : runs.whole(row, "replica"));
  const double outputs = runs.number(row, "actual_output_sum") / runs.number(row, "trace_output_sum");
  const double added = runs.number(row, "actual_input_sum") - runs.number(row, "trace_input_sum");
  const double requests = static_cast<double>(trace.num_rows()) / static_cast<double>(replicas);
  const std::int64_t prompt = std::llround(std::max(0.0, added) / requests);
  std::string text = "arrival_us,input_tokens,output_tokens\n";
  for (std::size_t i = replica; i < trace.num_rows(); i += replicas) {
    const double output = outputs * static_cast<double>(trace.whole(i, "output_tokens"));
    text += fmt::format("{},{},{}\n", std::llround(1e6 * slower * trace.number(i, "arrival_s")),
                        trace.whole(i, "input_tokens") + prompt, std::max(1LL, std::llround(output)));
  }
  return text;
}

class ApexPlus final : public PublishedSet {
 public:
  explicit ApexPlus(const Params& /*params*/) {}

  std::string folder() const override { return "apex_plus"; }
  std::string source() const override { return "microsoft/apex_plus 8769096 (MIT)"; }

  std::vector<PublishedFigure> predict(const PublishedOptions& options) const override {
    const std::string folder = options.data + "/apex_plus";
    const CsvTable table = CsvTable::read(folder + "/e2e_8xH100.csv");
    std::vector<PublishedFigure> figures;
    RowChoice choice(options);
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      if (table.text(row, "engine") != "vllm") continue;  // the other's times per token cannot be used
      PublishedFigure tpot;
      tpot.group = table.text(row, "model") + ", tp " + table.text(row, "tp");
      if (!choice.takes(tpot.group)) continue;
      tpot.condition = table.text(row, "file");
      tpot.metric = "tpot_mean_ms";
      tpot.measured = table.number(row, "tpot_ms");
      PublishedFigure ttft = tpot;
      ttft.metric = "ttft_mean_ms";
      ttft.measured = table.number(row, "ttft_ms");
      try {
        const CaseFile trace(apex_trace(table, row, folder));
        const ServedLatencies ours = simulate_case(case_of(table, row, trace), options.set, 1);
        tpot.predicted = ms(ours.tpot.distribution().mean);
        ttft.predicted = ms(ours.ttft.distribution().mean);
      } catch (const ConfigError& error) {
        tpot.note = ttft.note = error.what();
      }
      figures.push_back(tpot);
      figures.push_back(ttft);
      if (options.progress) options.progress(static_cast<int>(row + 1), static_cast<int>(table.num_rows()));
    }
    return figures;
  }

 private:
  // That version turns on chunks of 512 for contexts above 32 K. Prompts take longer on 8 devices than on 4,
  // from which we take it that only there the models' whole contexts were asked for; Sarathi's rule is
  // nearest to it.
  static ServedCase case_of(const CsvTable& table, std::size_t row, const CaseFile& trace) {
    const bool chunked = table.text(row, "tp") == "8";
    // The notes beside the data name an 8-bit cache and probably 8-bit weights; in 16 bits two devices are
    // too few.
    const bool untagged = !table.text(row, "model").starts_with("Llama") && !chunked;
    const bool fp8 = untagged || table.text(row, "precision_tag") == "fp8";
    ServedCase one;
    one.name = "apex_plus";
    one.model = (table.text(row, "model").starts_with("Llama") ? "meta-llama/" : "mistralai/") +
                table.text(row, "model");
    one.device = "h100-sxm";
    one.layout = fmt::format("{{tp: {}}}", table.text(row, "tp"));
    one.engine = fmt::format(
        "preset: {}, max_num_seqs: 256, max_num_batched_tokens: {}, max_model_len: 16384, memory_fraction: "
        "0.97{}",
        chunked ? "sarathi" : "vllm-v0", chunked ? 512 : 16384,
        fp8 ? ", dtype: f8e4m3, kv_dtype: f8e4m3" : "");
    one.workload = "trace: {file: " + trace.path() + "}, max_tokens: output";
    one.cost = "model: hybrid, engine: vllm-0.6";
    return one;
  }
};

const Registered<PublishedSet, ApexPlus> kApexPlus{"apex-plus",
                                                   "vLLM 0.6 on H100s, dense models of 70 and 123 billion."};

}  // namespace
}  // namespace servetwin
