// Integers as the doubles that prices are computed in, and what all prices of steps assume.
#pragma once

#include <cstdint>

#include "engine/base/time.h"

namespace servetwin {

constexpr double real(std::int64_t n) { return static_cast<double>(n); }
constexpr double as_ns(Duration d) { return static_cast<double>(d.count()); }

inline constexpr double kActivationBytes = 2.0;  // 16 bits between operations, whatever the weights are
inline constexpr double kSamplingPasses = 3.0;   // over a row of logits: copy, scale, choose

}  // namespace servetwin
