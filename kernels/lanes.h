// Sums in one fixed order: eight lanes, then a tree. An element's result depends on its operands alone, never
// on the batch around it, on threads or on the compiler's choice of vectors.
#pragma once

#include <array>
#include <cstdint>

namespace servetwin {

inline constexpr std::int64_t kLanes = 8;

inline float sum_of_lanes(const std::array<float, kLanes>& lanes) {
  const float left = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6]);
  const float right = (lanes[1] + lanes[5]) + (lanes[3] + lanes[7]);
  return left + right;
}

// Σ a[i] · b[i].
inline float dot(const float* a, const float* b, std::int64_t size) {
  std::array<float, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[static_cast<std::size_t>(lane)] += a[i + lane] * b[i + lane];
    }
  }
  for (std::int64_t lane = 0; i < size; ++i, ++lane) lanes[static_cast<std::size_t>(lane)] += a[i] * b[i];
  return sum_of_lanes(lanes);
}

}  // namespace servetwin
