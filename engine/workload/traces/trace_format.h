// What a line of a trace says, and the formats that can be read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/workload/traces/trace_spec.h"

namespace servetwin {

struct TraceRow {
  std::int64_t time_ns = 0;  // as in the file: only differences mean something
  Tokens input{};
  Tokens output{};
  std::string traffic_class;  // empty: not said
  std::optional<std::int32_t> priority;
  std::optional<TenantId> tenant;
  std::optional<AdapterId> adapter;
  SessionId session = kNoSession;
  std::vector<std::uint64_t> hashes;  // one for each started block of the prompt
  std::int64_t line = 0;
};

enum class RowVerdict {
  kGood,
  kBad,         // `message` and `remedy` say why
  kFailedThere  // the recorded system failed it; it says nothing about lengths and is left out
};

struct RowOutcome {
  RowVerdict verdict = RowVerdict::kGood;
  std::string message;
  std::string remedy;
};

inline RowOutcome bad_row(std::string message, std::string remedy) {
  return {RowVerdict::kBad, std::move(message), std::move(remedy)};
}

inline constexpr std::int64_t kMaxTraceTokens = 100'000'000;  // of one request; more is taken for damage

class TraceFormat {
 public:
  virtual ~TraceFormat() = default;
  // Reuses the storage of `row`, all of which it sets but `line`.
  virtual RowOutcome parse(std::string_view line, TraceRow& row) = 0;
  // For the report: what time stamps are taken for.
  virtual std::string time_unit() const = 0;
};

struct DetectedFormat {
  TraceFormatKind kind = TraceFormatKind::kAuto;
  std::unique_ptr<TraceFormat> format;
  bool first_line_is_header = false;
};

const char* to_string(TraceFormatKind kind);
// Recognises the format by the first line, or checks it against `spec.format`. Throws ConfigError naming
// `file` and `line`.
DetectedFormat detect_format(const TraceSpec& spec,
                             std::string_view first_line,
                             const std::string& file,
                             std::int64_t line);

// The formats themselves. A header that does not fit throws ConfigError.
std::unique_ptr<TraceFormat> make_csv_format(TraceFormatKind kind,
                                             std::string_view header,
                                             const std::string& file,
                                             std::int64_t line);
// The CSV format whose required columns the header has; kAuto when none.
TraceFormatKind csv_kind_of(std::string_view header);
std::unique_ptr<TraceFormat> make_mooncake_format(Tokens hash_block);

// "20 tokens need 1 id of 512, 2 given", or empty when the count is right.
std::string hash_count_problem(Tokens input, Tokens hash_block, std::size_t given);

}  // namespace servetwin
