// What decides a prediction, found by others before us: whole prompts come back and lie in the prefix cache,
// two steps are in flight, nobody waits for an answer.
#include "scenarios/published/vllm_h100_cases.h"

#include <algorithm>
#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

constexpr double kRetokenised = 1.05;  // prompts are about 5 % longer than their nominal length

double number_in(const std::string& text, const std::string& stages) {
  const auto value = parse_decimal(text);
  if (value) return *value.value;
  throw ConfigError(
      Problem{kCodeBadValue, {}, "stages", '"' + stages + "\" is not as \"2.5rps x 600s\"", ""});
}

}  // namespace

std::vector<LoadStage> stages_of(const std::string& text) {
  std::vector<LoadStage> stages;
  std::size_t at = 0;
  while (at < text.size()) {
    LoadStage stage;
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string part = text.substr(at, end - at);
    stage.rate = number_in(part.substr(0, part.find("rps")), text);
    const std::size_t from = part.find("x ") + 2;
    stage.seconds = number_in(from < part.size() ? part.substr(from, part.size() - from - 1) : "", text);
    stages.push_back(stage);
    at = end + 1;
  }
  return stages;
}

ServedCase vllm_h100_case(const CsvTable& table, std::size_t row, const LoadStage& stage, bool first) {
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
  one.others = fmt::format(
      "  run: {{warmup: {}s}}\n  front_end: {{servers: 64, per_request: 4010us, per_output: 1720us}}\n",
      lead);
  return one;
}

}  // namespace servetwin
