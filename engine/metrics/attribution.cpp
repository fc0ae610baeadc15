// Sums held request-time by minute and names what limits.
#include "engine/metrics/attribution.h"

#include <algorithm>
#include <utility>

#include "engine/metrics/statistics.h"

namespace servetwin {
namespace {

constexpr std::size_t kUnrouted = kNumHeldReasons;

std::size_t index_of(Limit limit) { return static_cast<std::size_t>(limit); }

std::array<Int128, kNumLimits> by_limit(const MinuteCounts& held) {
  std::array<Int128, kNumLimits> sums{};
  for (std::size_t r = 0; r < kUnrouted; ++r) sums[index_of(limit_of(static_cast<HeldReason>(r)))] += held[r];
  sums[index_of(Limit::kRouting)] = held[kUnrouted];
  return sums;
}

template <class Names, std::size_t N>
std::vector<HeldShare> rank(const std::array<Int128, N>& sums, Names name) {
  std::vector<std::size_t> order;
  Int128 total = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (sums[i] > 0) order.push_back(i);
    total += sums[i];
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
  std::vector<HeldShare> shares;
  for (const std::size_t i : order) {
    shares.push_back({name(i), ratio_of(sums[i], 1'000'000'000),
                      static_cast<double>(sums[i]) / static_cast<double>(total)});
  }
  return shares;
}

}  // namespace

void HeldTime::change(Time now, const HeldCounts& held) {
  settle(now);
  held_ = held;
}

void HeldTime::settle(Time now) {
  if (held_ == HeldCounts{}) since_ = std::max(since_, now);
  while (since_ < now) {
    const std::int64_t minute = since_.time_since_epoch() / kMinute;
    const Time until = std::min(now, Time{kMinute * (minute + 1)});
    const auto index = static_cast<std::size_t>(minute);
    if (index >= minutes_.size()) minutes_.resize(index + 1);
    for (std::size_t r = 0; r < held_.size(); ++r) minutes_[index][r] += held_[r] * to_ns(until - since_);
    since_ = until;
  }
}

Limit limit_of(HeldReason reason) {
  switch (reason) {
    case HeldReason::kSeqsCap:
      return Limit::kSeqs;
    case HeldReason::kTokenBudget:
      return Limit::kTokenBudget;
    case HeldReason::kPhase:
      return Limit::kPhase;
    case HeldReason::kKvGate:
    case HeldReason::kWatermark:
    case HeldReason::kKvAllocation:
    case HeldReason::kHeadOfLine:
    case HeldReason::kPreempted:
      return Limit::kKvMemory;
    case HeldReason::kBlocked:
      return Limit::kBlocked;
    case HeldReason::kClientWindow:
      return Limit::kClient;
    case HeldReason::kInFlight:
      return Limit::kInFlight;
    case HeldReason::kPaused:
      return Limit::kPaused;
  }
  return Limit::kNone;
}

const char* to_string(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "none";
    case Limit::kKvMemory:
      return "KV memory";
    case Limit::kSeqs:
      return "max_num_seqs";
    case Limit::kTokenBudget:
      return "token budget";
    case Limit::kPhase:
      return "steps of prompts or decoders alone";
    case Limit::kBlocked:
      return "grammar, adapter, remote KV or input";
    case Limit::kClient:
      return "slow clients";
    case Limit::kInFlight:
      return "steps in flight";
    case Limit::kPaused:
      return "paused replicas";
    case Limit::kRouting:
      return "front end or routing";
    case Limit::kMixed:
      return "mixed";
  }
  return "?";
}

std::vector<MinuteCounts> sum_minutes(const std::vector<const HeldTime*>& replicas,
                                      const HeldTime& unrouted) {
  std::vector<MinuteCounts> sums;
  for (const HeldTime* replica : replicas) {
    const auto& minutes = replica->minutes();
    if (sums.size() < minutes.size()) sums.resize(minutes.size());
    for (std::size_t m = 0; m < minutes.size(); ++m) {
      for (std::size_t r = 0; r < minutes[m].size(); ++r) sums[m][r] += minutes[m][r];
    }
  }
  if (sums.size() < unrouted.minutes().size()) sums.resize(unrouted.minutes().size());
  for (std::size_t m = 0; m < unrouted.minutes().size(); ++m) sums[m][kUnrouted] += unrouted.minutes()[m][0];
  return sums;
}

std::vector<MinuteLimit> limits_by_minute(const std::vector<MinuteCounts>& minutes, Time end) {
  std::vector<MinuteLimit> limits(minutes.size());
  for (std::size_t m = 0; m < minutes.size(); ++m) {
    const auto sums = by_limit(minutes[m]);
    Int128 total = 0;
    for (const Int128 sum : sums) total += sum;
    if (total == 0) continue;
    const auto largest = std::max_element(sums.begin(), sums.end());
    const bool majority = *largest * 2 > total;
    const Duration length = std::min(kMinute, end - Time{kMinute * static_cast<std::int64_t>(m)});
    limits[m].limit = majority ? static_cast<Limit>(largest - sums.begin()) : Limit::kMixed;
    limits[m].share = static_cast<double>(*largest) / static_cast<double>(total);
    limits[m].mean_held = length > Duration{0} ? ratio_of(total, to_ns(length)) : 0;
  }
  return limits;
}

std::vector<HeldShare> rank_reasons(const std::vector<MinuteCounts>& minutes) {
  std::array<Int128, kNumHeldReasons + 1> sums{};
  for (const MinuteCounts& minute : minutes) {
    for (std::size_t r = 0; r < minute.size(); ++r) sums[r] += minute[r];
  }
  return rank(sums, [](std::size_t r) {
    return r == kUnrouted ? "unrouted" : to_string(static_cast<HeldReason>(r));
  });
}

std::vector<HeldShare> rank_limits(const std::vector<MinuteCounts>& minutes) {
  std::array<Int128, kNumLimits> sums{};
  for (const MinuteCounts& minute : minutes) {
    const auto one = by_limit(minute);
    for (std::size_t i = 0; i < one.size(); ++i) sums[i] += one[i];
  }
  return rank(sums, [](std::size_t i) { return to_string(static_cast<Limit>(i)); });
}

LimitFinding find_limit(const std::vector<MinuteLimit>& minutes, std::size_t count) {
  const auto limit_at = [&](std::size_t m) {
    return m < minutes.size() && minutes[m].mean_held >= 1 ? minutes[m].limit : Limit::kNone;
  };
  LimitFinding best;
  double best_weight = 0;
  for (std::size_t from = 0; from < count;) {
    const Limit limit = limit_at(from);
    std::size_t to = from;
    double weight = 0;
    for (; to < count && limit_at(to) == limit; ++to)
      weight += limit == Limit::kNone ? 0 : minutes[to].mean_held;
    const bool to_end = to == count;
    if (limit != Limit::kNone && (to_end || weight > best_weight)) {
      best = {limit, static_cast<std::int64_t>(from), static_cast<std::int64_t>(to), to_end};
      best_weight = weight;
    }
    from = to;
  }
  return best;
}

}  // namespace servetwin
