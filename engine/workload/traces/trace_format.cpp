// Recognises a trace by its first line, and says what it saw where it does not.
#include "engine/workload/traces/trace_format.h"

#include "engine/workload/traces/trace_error.h"

namespace servetwin {
namespace {

std::string shown(std::string_view line) {
  constexpr std::size_t kShown = 80;
  std::string text(line.substr(0, kShown));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return line.size() > kShown ? text + "…" : text;
}

}  // namespace

const char* to_string(TraceFormatKind kind) {
  switch (kind) {
    case TraceFormatKind::kAuto:
      return "auto";
    case TraceFormatKind::kServetwinCsv:
      return "servetwin_csv";
    case TraceFormatKind::kAzureCsv:
      return "azure_csv";
    case TraceFormatKind::kMooncakeJsonl:
      return "mooncake_jsonl";
    case TraceFormatKind::kBurstGptCsv:
      return "burstgpt_csv";
  }
  return "?";
}

DetectedFormat detect_format(const TraceSpec& spec,
                             std::string_view first_line,
                             const std::string& file,
                             std::int64_t line) {
  DetectedFormat result;
  const bool is_json = first_line.front() == '{';
  result.kind = is_json ? TraceFormatKind::kMooncakeJsonl : csv_kind_of(first_line);
  if (spec.format != TraceFormatKind::kAuto) result.kind = spec.format;
  if (result.kind == TraceFormatKind::kAuto) {
    throw trace_error(
        kCodeTraceFormat, file, line, "no known trace format begins like this: " + shown(first_line),
        "known are arrival_s,input_tokens,output_tokens; TIMESTAMP,ContextTokens,GeneratedTokens; "
        "BurstGPT's header; and Mooncake's JSON lines");
  }
  if (result.kind == TraceFormatKind::kMooncakeJsonl) {
    result.format = make_mooncake_format(spec.hash_block);
  } else {
    result.format = make_csv_format(result.kind, first_line, file, line);
    result.first_line_is_header = true;
  }
  return result;
}

std::string hash_count_problem(Tokens input, Tokens hash_block, std::size_t given) {
  const std::int64_t needed = ceil_div(input.value, hash_block.value);
  if (static_cast<std::int64_t>(given) == needed) return {};
  return std::to_string(input.value) + " tokens need " + std::to_string(needed) +
         (needed == 1 ? " id" : " ids") + " of " + std::to_string(hash_block.value) + ", " +
         std::to_string(given) + " given";
}

}  // namespace servetwin
