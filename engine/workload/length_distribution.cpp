// Rounding and clipping that all length distributions share.
#include "engine/workload/length_distribution.h"

#include <algorithm>

namespace servetwin {

Tokens LengthClip::apply(double length) const {
  const double bounded = std::clamp(length, static_cast<double>(min.value), static_cast<double>(max.value));
  return Tokens{static_cast<std::int64_t>(bounded + 0.5)};
}

}  // namespace servetwin
