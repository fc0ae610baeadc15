// A quantile of a few numbers, for fits and errors; latencies have sketches (engine/metrics/statistics.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/base/check.h"

namespace servetwin {

// Of at least one value; linear between neighbours (type 7).
inline double quantile(std::vector<double> values, double share) {
  CHECK_INVARIANT(!values.empty(), share);
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace servetwin
