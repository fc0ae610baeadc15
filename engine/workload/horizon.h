// How far a workload can reach, so that no sum of times overflows.
#pragma once

#include <algorithm>

#include "engine/base/time.h"

namespace servetwin {

// A century. Drawn spans are cut here, and what would arrive later never arrives.
inline constexpr Duration kHorizon = std::chrono::hours(24 * 365 * 100);

inline Duration span_of_seconds(double seconds) {
  return duration_from_seconds(std::min(seconds, to_seconds(kHorizon)));
}

}  // namespace servetwin
