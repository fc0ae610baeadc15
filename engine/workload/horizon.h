// How far a workload can reach: every run of one ends, and no sum of times overflows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/time.h"
#include "engine/base/units.h"

namespace servetwin {

// A year. Drawn spans are cut here, and what would arrive later never arrives.
inline constexpr Duration kHorizon = std::chrono::hours(24 * 365);
// Requests of a workload; a loop that waits for answers ends with this many.
inline constexpr std::int64_t kMaxRequests = 1'000'000'000;
// Of arrivals: from none in a year to one every microsecond. Above, gaps of whole nanoseconds would be
// coarse.
inline constexpr PerSecond kMinRate{1e-18};
inline constexpr PerSecond kMaxRate{1e6};
// Shortest part of a rate that changes, so that a walk along it comes to its next arrival soon.
inline constexpr Duration kMinPhase{1'000'000};

inline Duration span_of_seconds(double seconds) {
  return duration_from_seconds(std::min(seconds, to_seconds(kHorizon)));
}

}  // namespace servetwin
