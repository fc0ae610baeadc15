// What the kernel tests feed and how they read results.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/rng.h"

namespace servetwin {

// Numbers in [-1, 1), other ones for each `entity`.
inline std::vector<float> noise(std::uint64_t entity, std::int64_t size) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(size); ++i) {
    values.push_back(static_cast<float>(2.0 * draw_unit({9, Stream::kTest, entity}, i) - 1.0));
  }
  return values;
}

inline double at(const std::vector<float>& values, std::int64_t i) {
  return static_cast<double>(values[static_cast<std::size_t>(i)]);
}

}  // namespace servetwin
