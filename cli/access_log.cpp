// Keys that do not apply are left out.
#include "cli/access_log.h"

#include <chrono>
#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

namespace servetwin {

std::string access_line(const AccessRecord& record) {
  using Json = nlohmann::ordered_json;
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto millis = static_cast<int>(now.time_since_epoch().count() % 1000);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  Json line{{"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), millis)},
            {"method", record.method},
            {"path", record.path},
            {"status", record.status},
            {"duration_ms", static_cast<double>(record.duration.count() / 1000) / 1000.0},
            {"bytes", record.bytes},
            {"complete", record.complete},
            {"request_id", record.request_id}};
  const std::string trace = trace_id_of(record.traceparent);
  if (!trace.empty()) line["trace_id"] = trace;
  if (record.facts.prompt_tokens >= 0) line["prompt_tokens"] = record.facts.prompt_tokens;
  if (record.facts.completion_tokens >= 0) line["completion_tokens"] = record.facts.completion_tokens;
  if (!record.facts.finish_reason.empty()) line["finish_reason"] = record.facts.finish_reason;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace servetwin
