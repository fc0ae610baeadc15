// Poisson arrivals whose rate changes: unit-exponential steps through the integral of a piecewise linear
// rate.
#pragma once

#include <cstdint>

#include "engine/base/rng.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/workload/horizon.h"

namespace servetwin {

// A rate that goes linearly from one value to another.
struct RatePiece {
  Duration length{0};
  PerSecond from;
  PerSecond to;
};

// Of a cycle of pieces that is walked again and again: fewer would take for ever to find one.
inline constexpr double kLeastArrivals = 0.001;

// Walks along pieces given one after the other. Draws depend on the number of the arrival alone.
class RateClock {
 public:
  explicit RateClock(std::uint64_t seed) : key_{seed, Stream::kArrivals, 0} {}

  // Whether the next arrival falls into this piece; if so now() is its time. To be called with the same piece
  // again after an arrival, and with the following one after a refusal.
  bool advance(const RatePiece& piece);
  // Nothing arrives any more.
  bool is_over() const { return piece_start_ > kTimeZero + kHorizon; }
  Time now() const { return piece_start_ + duration_from_seconds(inside_s_); }

 private:
  StreamKey key_;
  std::uint32_t index_ = 0;
  double left_ = -1;  // of the current step, below zero: to be drawn
  Time piece_start_ = kTimeZero;
  double inside_s_ = 0;  // seconds into the piece
};

}  // namespace servetwin
