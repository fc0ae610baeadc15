// Lines of `name{labels} value`; comments and what is not known are passed over.
#include "calibrate/endpoint/server_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>

#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

struct KnownName {
  std::string_view name;
  std::optional<double> ServerMetrics::*value;
};

constexpr std::array kMetricNames{
    KnownName{"vllm:num_requests_running", &ServerMetrics::running},
    KnownName{"sglang:num_running_reqs", &ServerMetrics::running},
    KnownName{"llamacpp:requests_processing", &ServerMetrics::running},
    KnownName{"tgi_batch_current_size", &ServerMetrics::running},
    KnownName{"vllm:num_requests_waiting", &ServerMetrics::waiting},
    KnownName{"sglang:num_queue_reqs", &ServerMetrics::waiting},
    KnownName{"llamacpp:requests_deferred", &ServerMetrics::waiting},
    KnownName{"tgi_queue_size", &ServerMetrics::waiting},
    KnownName{"vllm:kv_cache_usage_perc", &ServerMetrics::kv_usage},
    KnownName{"vllm:gpu_cache_usage_perc", &ServerMetrics::kv_usage},
    KnownName{"sglang:token_usage", &ServerMetrics::kv_usage},
    KnownName{"llamacpp:kv_cache_usage_ratio", &ServerMetrics::kv_usage},
    KnownName{"vllm:num_preemptions_total", &ServerMetrics::preemptions},
    KnownName{"vllm:num_preemptions", &ServerMetrics::preemptions},
    KnownName{"vllm:iteration_tokens_total_count", &ServerMetrics::steps},
};

// The text of label="…" among labels, or empty.
std::string_view label_of(std::string_view labels, std::string_view label) {
  const std::string start = std::string(label) + "=\"";
  const std::size_t at = labels.find(start);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + start.size();
  return labels.substr(from, labels.find('"', from) - from);
}

std::optional<std::int64_t> whole_label(std::string_view labels, std::string_view label) {
  const auto parsed = parse_integer(label_of(labels, label));
  return parsed && *parsed.value > 0 ? parsed.value : std::nullopt;
}

}  // namespace

ServerMetrics server_metrics(const std::string& text) {
  ServerMetrics metrics;
  int usages = 0;
  int runs = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::size_t name_end = line.find_first_of("{ ");
    if (line.empty() || line.front() == '#' || name_end == std::string::npos) continue;
    const std::string_view name(line.data(), name_end);
    const std::size_t brace = line[name_end] == '{' ? line.rfind('}') : name_end;
    if (brace == std::string::npos) continue;
    const std::string_view labels(line.data() + name_end, brace - name_end);
    std::istringstream rest(line.substr(brace + 1));
    std::string number;
    rest >> number;
    const auto value = parse_decimal(number);
    if (name == "vllm:cache_config_info") {
      metrics.block_size = whole_label(labels, "block_size");
      metrics.num_blocks = whole_label(labels, "num_gpu_blocks");
    }
    const auto known =
        std::find_if(kMetricNames.begin(), kMetricNames.end(), [&](const auto& k) { return k.name == name; });
    if (known == kMetricNames.end() || !value || *value.value < 0) continue;
    auto& field = metrics.*(known->value);
    field = field.value_or(0) + *value.value;
    if (known->value == &ServerMetrics::kv_usage) ++usages;
    if (known->value == &ServerMetrics::running) ++runs;
  }
  if (usages > 1) *metrics.kv_usage /= usages;
  metrics.engines = std::max(usages, runs);
  return metrics;
}

}  // namespace servetwin
