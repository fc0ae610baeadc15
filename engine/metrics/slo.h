// What a class of requests was promised, and the stat groups that tell measured requests from the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/request.h"

namespace servetwin {

// A request is good when it finished and every limit given holds, compared with <=.
struct Slo {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;  // a request of one token has no TPOT and meets it
  std::optional<Duration> itl;   // met when at most 1 % of the request's own gaps exceed it
  std::optional<Duration> e2e;

  bool empty() const { return !ttft && !tpot && !itl && !e2e; }
  friend bool operator==(const Slo&, const Slo&) = default;
};

enum class SloLimit : std::uint8_t { kTtft, kTpot, kItl, kE2e };
inline constexpr int kNumSloLimits = static_cast<int>(SloLimit::kE2e) + 1;

// Requests that completed but missed a limit, by limit; one that missed two counts in both.
using SloMisses = std::array<std::int64_t, kNumSloLimits>;

// The stat group of a request: its class, plus 16 when it arrives outside the measured window.
constexpr std::uint8_t stat_group_for(ClassId traffic_class, bool measured) {
  return static_cast<std::uint8_t>(raw(traffic_class) + (measured ? 0 : kMaxClasses));
}

constexpr bool is_measured(int stat_group) { return stat_group < kMaxClasses; }

static_assert(2 * kMaxClasses == kMaxStatGroups);

// One percent of the gaps may exceed the limit, in integers.
constexpr bool meets_itl(std::int64_t gaps, std::int64_t over_limit) { return over_limit * 100 <= gaps; }

// (last - first) / (n - 1), rounded half up to the nanosecond; nothing for fewer than two tokens.
inline std::optional<Duration> tpot_of(Time first_token, Time last_token, Tokens outputs) {
  if (outputs.value < 2) return std::nullopt;
  const std::int64_t gaps = outputs.value - 1;
  return Duration{(2 * to_ns(last_token - first_token) + gaps) / (2 * gaps)};
}

}  // namespace servetwin
