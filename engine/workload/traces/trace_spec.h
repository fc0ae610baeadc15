// Which recorded trace to replay, and how, as parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/params.h"
#include "engine/workload/horizon.h"

namespace servetwin {

enum class TraceFormatKind { kAuto, kServetwinCsv, kAzureCsv, kMooncakeJsonl, kBurstGptCsv };
enum class OnBadRow { kError, kSkip };

struct TraceSpec {
  std::string file;
  TraceFormatKind format = TraceFormatKind::kAuto;
  bool sort = false;
  OnBadRow on_bad_row = OnBadRow::kError;
  double time_scale = 1;
  double rate_scale = 1;
  std::optional<std::int64_t> max_requests;
  Duration start{0};
  std::optional<Duration> end;
  Tokens hash_block{512};

  template <class Visitor>
  void fields(Visitor& v) {
    v("file", file, "The trace, plain or compressed with gzip or zstd; relative to the scenario.", kRequired);
    v("format", format, "Format; auto looks at the content and the report says what was found.",
      Choices<TraceFormatKind>{{"auto", TraceFormatKind::kAuto},
                               {"servetwin_csv", TraceFormatKind::kServetwinCsv},
                               {"azure_csv", TraceFormatKind::kAzureCsv},
                               {"mooncake_jsonl", TraceFormatKind::kMooncakeJsonl},
                               {"burstgpt_csv", TraceFormatKind::kBurstGptCsv}});
    v("sort", sort, "Sort by time, equal times in file order; holds the whole trace in memory.");
    v("on_bad_row", on_bad_row, "Stop at a bad row, or leave it out and count it.",
      Choices<OnBadRow>{{"error", OnBadRow::kError}, {"skip", OnBadRow::kSkip}});
    v("time_scale", time_scale, "Multiplies the times between requests.", Range{1e-6, 1e6});
    v("rate_scale", rate_scale, "Divides the times between requests.", Range{1e-6, 1e6});
    v("max_requests", max_requests, "Requests taken at most.", Range{std::int64_t{1}, kMaxRequests});
    v("start", start, "Leave out what came earlier than this after the first row; becomes time zero.");
    v("end", end, "Leave out what came at or after this, counted from the first row.");
    v("hash_block", hash_block, "Tokens of one hash id in a Mooncake trace.", Range{1, 1'000'000});
  }
  std::string problem() const { return end && *end <= start ? "end is not after start" : ""; }
};

}  // namespace servetwin
