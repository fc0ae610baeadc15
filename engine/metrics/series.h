// Quantities as functions of time: per second for peaks, in a bounded number of intervals for trends.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/time.h"
#include "engine/metrics/statistics.h"

namespace servetwin {

// Tokens and living requests of every second since time zero, as `vllm bench serve` counts them. Memory grows
// with the simulated time (16 bytes a second); the order of the calls does not matter.
class SecondSeries {
 public:
  static constexpr std::size_t kMaxSeconds = std::size_t{1} << 23;  // 97 days

  void add_tokens(Time at, std::int64_t count) { second(at).tokens += count; }
  // A request is counted in every second that its life touches.
  void add_life(Time from, Time to);

  // False when the run outlived kMaxSeconds: then later seconds are lumped together and the peaks mean
  // nothing.
  bool complete() const { return seconds_.size() <= kMaxSeconds; }
  std::int64_t max_tokens() const;
  std::int64_t max_alive() const;

 private:
  struct Second {
    std::int64_t tokens = 0;
    std::int32_t starts = 0;
    std::int32_t ends = 0;  // lives whose last second was the one before
  };

  Second& second(Time at) {
    const auto index = static_cast<std::size_t>(to_ns(at) / 1'000'000'000);
    if (index >= seconds_.size()) return grow(index);
    return seconds_[index];
  }
  Second& grow(std::size_t index);

  std::vector<Second> seconds_;
};

// Arrivals, ends and first-token latencies in at most kMaxIntervals intervals of equal width; when time
// outgrows them the width doubles and pairs merge. The order of the calls does not matter.
class TrendSeries {
 public:
  static constexpr std::size_t kMaxIntervals = 4096;

  struct Interval {
    std::int64_t arrivals = 0;
    std::int64_t ends = 0;
    std::int64_t ttft_count = 0;  // of requests that arrived in the interval
    Int128 ttft_sum = 0;          // nanoseconds
  };

  void add_arrival(Time at) { ++interval(at).arrivals; }
  void add_end(Time at) { ++interval(at).ends; }
  void add_ttft(Time arrival, Duration ttft);

  Duration width() const { return width_; }
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  Interval& interval(Time at);

  Duration width_{1'000'000};
  std::vector<Interval> intervals_;
};

// A least-squares line through points, and how many standard errors its slope is above zero.
struct Trend {
  double slope = 0;  // per unit of x
  double t = 0;      // 0 when it cannot be told; very large for a perfect line
  double rise = 0;   // slope times the span of x, as a share of the mean of y
};

Trend fit_trend(const std::vector<double>& x, const std::vector<double>& y);

// Whether a run was still filling up: concurrency and TTFT both rise over the measured window.
struct SteadyState {
  // The window is cut into 20 parts; a slope counts when it is 3 standard errors above zero (one-sided chance
  // of 0.4 % with 18 degrees of freedom) and the line rises by at least a fifth of the mean over the window.
  static constexpr std::size_t kParts = 20;
  static constexpr double kMinT = 3;
  static constexpr double kMinRise = 0.2;

  bool judged = false;  // false: fewer than 20 parts hold requests
  bool still_rising = false;
  Trend concurrency;
  Trend ttft;
};

SteadyState judge_steady_state(const TrendSeries& series, Time from, Time to);

}  // namespace servetwin
