// What held requests back: request-time by reason and minute, and the sentence "the limit is X from minute
// M".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/time.h"
#include "engine/serving/plan.h"

namespace servetwin {

// Requests, or request-nanoseconds, by reason.
using HeldCounts = std::array<std::int64_t, kNumHeldReasons>;
// Request-nanoseconds of one minute over all replicas; the last entry is of requests that no replica has yet.
using MinuteCounts = std::array<std::int64_t, kNumHeldReasons + 1>;

inline constexpr Duration kMinute{60'000'000'000};

// The held counts of one replica as a function of time, summed a minute at a time. A time
// before an earlier one counts as that.
class HeldTime {
 public:
  // From `now` on these counts hold. Nothing but a comparison when they are the old ones.
  void hold(Time now, const HeldCounts& held) {
    if (held != held_) change(now, held);
  }
  // Accounts for all time up to `now`; `hold` may go on after it.
  void settle(Time now);
  // Request-nanoseconds of each minute from time zero, settled ones only.
  const std::vector<HeldCounts>& minutes() const { return minutes_; }

 private:
  void change(Time now, const HeldCounts& held);

  HeldCounts held_{};
  Time since_ = kTimeZero;
  std::vector<HeldCounts> minutes_;
};

// Reasons that have one remedy are one limit.
enum class Limit : std::uint8_t {
  kNone,
  kKvMemory,
  kSeqs,
  kTokenBudget,
  kBlocked,
  kClient,
  kInFlight,
  kPaused,
  kRouting,
  kPhase,
  kMixed
};

inline constexpr int kNumLimits = 11;

Limit limit_of(HeldReason reason);
// For people: "KV memory", "max_num_seqs", "token budget", "none", "mixed", ...
const char* to_string(Limit limit);

// What held most in one minute, over all replicas: the limit with more than half of the held request-time,
// kMixed if there is none, kNone if nothing was held.
struct MinuteLimit {
  Limit limit = Limit::kNone;
  double share = 0;      // of the minute's held request-time that is the largest limit's
  double mean_held = 0;  // requests held back, averaged over the minute
};

// A limit's (or reason's) part of all held request-time.
struct HeldShare {
  const char* name = "";
  double request_seconds = 0;
  double share = 0;
};

// The sentence "the limit is X from minute M" as data.
struct LimitFinding {
  Limit limit = Limit::kNone;
  std::int64_t from_minute = 0;
  std::int64_t to_minute = 0;  // exclusive
  bool to_end = false;         // it holds to the last minute looked at
};

// The minutes of all replicas added up, and the first reason of `unrouted`.
std::vector<MinuteCounts> sum_minutes(const std::vector<const HeldTime*>& replicas, const HeldTime& unrouted);
// The last minute may be a part of one: it ends at `end`.
std::vector<MinuteLimit> limits_by_minute(const std::vector<MinuteCounts>& minutes, Time end);
// Largest first, without those that never held; ties in the order of the enumeration.
std::vector<HeldShare> rank_reasons(const std::vector<MinuteCounts>& minutes);
std::vector<HeldShare> rank_limits(const std::vector<MinuteCounts>& minutes);
// Looks at the first `count` minutes. A minute that held back less than one request on average limits
// nothing. If the last minute has a limit, the finding is that limit from the first minute since when it has
// held without a break; else it is the unbroken interval of one limit with most held request-time.
LimitFinding find_limit(const std::vector<MinuteLimit>& minutes, std::size_t count);

}  // namespace servetwin
