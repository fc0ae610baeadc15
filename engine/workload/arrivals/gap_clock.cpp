// Sums in integers, so that equal draws give equal times whatever is done with them.
#include "engine/workload/arrivals/gap_clock.h"

#include <utility>

#include "engine/workload/horizon.h"

namespace servetwin {
namespace {

// a * b / c rounded down, without overflow.
std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(a) * b / c);
}

}  // namespace

GapClock::GapClock(GapFunction gap,
                   PerSecond rate,
                   bool normalize,
                   const ArrivalProcess::MakeContext& context)
    : gap_(std::move(gap)), rate_(rate) {
  if (!normalize) return;
  if (!context.num_requests) {
    throw ConfigError(Problem{"WKL001", context.place, context.path + ".normalize",
                              "stretching the arrivals needs the number of requests",
                              "set num_requests, or normalize: false"});
  }
  for (std::int64_t i = 0; i < *context.num_requests; ++i) {
    total_ns_ += gap_(static_cast<std::uint32_t>(i)).count();
    if (Duration{total_ns_} <= kHorizon) continue;
    throw ConfigError(Problem{"WKL002", context.place, context.path, "the arrivals take more than a year",
                              "raise the rate or lower num_requests"});
  }
  target_ns_ = span_of_seconds(static_cast<double>(*context.num_requests) / rate.value).count();
}

Time GapClock::next() {
  if (Duration{sum_ns_} > kHorizon) return kTimeNever;
  sum_ns_ += gap_(index_++).count();
  if (Duration{sum_ns_} > kHorizon) return kTimeNever;
  return time_at_ns(total_ns_ > 0 ? scaled(sum_ns_, target_ns_, total_ns_) : sum_ns_);
}

}  // namespace servetwin
