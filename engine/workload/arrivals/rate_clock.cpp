// The integral of a linear rate over x seconds is r x + s x²/2; its inverse is one square root.
#include "engine/workload/arrivals/rate_clock.h"

#include <algorithm>
#include <cmath>

#include "engine/base/samplers.h"

namespace servetwin {

bool RateClock::advance(const RatePiece& piece) {
  if (is_over()) return false;
  if (left_ < 0) left_ = sample_exponential(key_, index_++, 1.0);
  const double length = to_seconds(piece.length);
  const double slope = length > 0 ? (piece.to.value - piece.from.value) / length : 0;
  const double rate = std::max(0.0, piece.from.value + slope * inside_s_);
  const double rest = length - inside_s_;
  const double mass = std::max(0.0, rate * rest + slope * rest * rest / 2);
  if (left_ >= mass) {
    left_ -= mass;
    piece_start_ += piece.length;
    inside_s_ = 0;
    return false;
  }
  // The root in the form that stays exact for slopes near zero.
  const double root = std::sqrt(std::max(0.0, rate * rate + 2 * slope * left_));
  inside_s_ = std::min(length, inside_s_ + 2 * left_ / (rate + root));
  left_ = -1;
  return true;
}

}  // namespace servetwin
