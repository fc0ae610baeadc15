// Integer-nanosecond time: instants and spans are distinct types, and lossy conversion does not compile.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace servetwin {

// A span of virtual or real time, in nanoseconds (292 years either way).
using Duration = std::chrono::duration<std::int64_t, std::nano>;

// The clock of a run. It has no now(): time comes in with each event.
struct ServingClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<ServingClock, Duration>;
  static constexpr bool is_steady = true;
};

// An instant, counted from the start of the run.
using Time = std::chrono::time_point<ServingClock, Duration>;

inline constexpr Time kTimeZero{};
inline constexpr Time kTimeNever{Duration::max()};

constexpr std::int64_t to_ns(Duration d) { return d.count(); }

constexpr std::int64_t to_ns(Time t) { return t.time_since_epoch().count(); }

constexpr Time time_at_ns(std::int64_t ns) { return Time{Duration{ns}}; }

// For reports only: never feeds a decision.
constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) / 1e9; }

constexpr double to_seconds(Time t) { return to_seconds(t.time_since_epoch()); }

constexpr double to_milliseconds(Duration d) { return static_cast<double>(d.count()) / 1e6; }

// The one place where seconds as a double become a Duration: rounds half away from zero to the nearest
// nanosecond. The caller guarantees a finite value inside ±9e9 s.
constexpr Duration duration_from_seconds(double seconds) {
  const double ns = seconds * 1e9;
  return Duration{static_cast<std::int64_t>(ns < 0 ? ns - 0.5 : ns + 0.5)};
}

// Rounds a non-negative number of nanoseconds half up. The one rounding of a step's cost.
constexpr Duration duration_from_ns(double ns) { return Duration{static_cast<std::int64_t>(ns + 0.5)}; }

}  // namespace servetwin
