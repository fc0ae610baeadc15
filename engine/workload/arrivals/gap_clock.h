// Adds up gaps between arrivals, and stretches their sum to an exact length where that is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/base/units.h"
#include "engine/workload/arrival_process.h"

namespace servetwin {

// The gap before arrival `index`, in whole nanoseconds; a pure function.
using GapFunction = std::function<Duration(std::uint32_t index)>;

class GapClock {
 public:
  // With `normalize`, times are multiplied so that the last of num_requests falls exactly at num_requests /
  // rate, as `vllm bench serve` does. Throws ConfigError where the number of requests is not known.
  GapClock(GapFunction gap, PerSecond rate, bool normalize, const ArrivalProcess::MakeContext& context);
  Time next();
  double expected(Duration span) const { return rate_.value * to_seconds(span); }

 private:
  GapFunction gap_;
  PerSecond rate_;
  std::uint32_t index_ = 0;
  std::int64_t sum_ns_ = 0;
  std::int64_t total_ns_ = 0;   // of all gaps, 0: times are the plain sums
  std::int64_t target_ns_ = 0;  // where the last arrival is to fall
};

}  // namespace servetwin
