// Step times for rules that need them (SLO slack, priced swap): injected, the same kind in simulation and
// live.
#pragma once

#include <cstdint>

#include "engine/base/time.h"
#include "engine/serving/shape.h"

namespace servetwin {

// Pure: the same shape gives the same time. A rule that needs one and has none is refused, never defaulted.
class StepTimeEstimator {
 public:
  virtual ~StepTimeEstimator() = default;
  virtual Duration estimate(const StepShape& shape) const = 0;
  // Of layers whose sums a shape must have; 0: none.
  virtual std::int64_t window() const { return 0; }
  // Identifies profile and model; written to the journal so that a replay uses the same one.
  virtual std::uint64_t profile_hash() const = 0;
};

}  // namespace servetwin
