// How many tokens a server's KV cache holds, from how full it says it is, or from who had to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/endpoint/event_stream.h"
#include "calibrate/endpoint/load_rows.h"

namespace servetwin {

inline constexpr std::int64_t kUsualBlock = 16;  // tokens of a block where a server does not say

// Tokens whose keys and values the requests hold at a time, each in blocks of that size. Empty while one of
// them waits or is computed.
std::optional<double> resident_tokens(const std::vector<TimedAnswer>& answers,
                                      Duration at,
                                      std::int64_t block);

// Of requests that were all sent at once: what was held together, and what did not fit with that.
struct WaveBounds {
  std::int64_t running = 0;  // most that decoded at once
  double held = 0;           // most tokens that those held
  double refused = 0;        // so many are too many: one more waited, or one was preempted; 0: nobody did
};
WaveBounds wave_bounds(const std::vector<TimedAnswer>& answers, std::int64_t block);

struct KvCapacity {
  double tokens = 0;
  double low = 0;
  std::optional<double> high;  // empty: nothing showed that there is not more
  std::string evidence;        // how it is known
};

// Of all rows of a server. A wave in which as many ran as the server ever ran at once says nothing of its
// cache: it was the number of requests that was limited.
std::optional<KvCapacity> kv_capacity(const std::vector<LoadRow>& rows);

}  // namespace servetwin
