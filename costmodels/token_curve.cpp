// Knots are log-linear, so that products whose time jumps with whole tiles keep their jumps where steps are
// small.
#include "costmodels/token_curve.h"

#include "engine/base/check.h"

namespace servetwin {

std::int64_t TokenCurve::tokens_of(std::int64_t knot) {
  if (knot < kExact) return knot;
  const std::int64_t steps = std::int64_t{1} << kStepBits;
  const std::int64_t octave = (knot - kExact) / steps;
  const std::int64_t step = (knot - kExact) % steps;
  return (kExact << octave) + step * ((kExact << octave) / steps);
}

TokenCurve::TokenCurve(std::int64_t most, const std::function<double(double)>& time) {
  CHECK_INVARIANT(most >= 0, most);
  std::int64_t knot = 0;
  do {
    values_.push_back(time(static_cast<double>(tokens_of(knot))));
  } while (tokens_of(knot++) < most || knot < 2);
}

double TokenCurve::beyond(std::int64_t tokens) const {
  if (values_.empty()) return 0;
  const std::int64_t last = size() - 1;
  const double length = static_cast<double>(tokens_of(last) - tokens_of(last - 1));
  const double slope =
      (values_[static_cast<std::size_t>(last)] - values_[static_cast<std::size_t>(last) - 1]) / length;
  return values_[static_cast<std::size_t>(last)] + slope * static_cast<double>(tokens - tokens_of(last));
}

}  // namespace servetwin
