// If this fails, a report names the wrong limit or the wrong minute.
#include "engine/metrics/attribution.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace servetwin::attribution_test {
namespace {

Time at_s(std::int64_t seconds) { return time_at_ns(seconds * 1'000'000'000); }

constexpr std::int64_t kSecond = 1'000'000'000;

MinuteCounts minute_of(const HeldCounts& counts) {
  MinuteCounts minute{};
  std::copy(counts.begin(), counts.end(), minute.begin());
  return minute;
}

HeldCounts held(HeldReason reason, std::int64_t requests) {
  HeldCounts counts{};
  counts[static_cast<std::size_t>(reason)] = requests;
  return counts;
}

std::int64_t sum_at(const HeldTime& time, std::size_t minute, HeldReason reason) {
  return time.minutes().at(minute)[static_cast<std::size_t>(reason)];
}

TEST_CASE("counts hold until the next plan and are cut at minutes") {
  HeldTime time;
  time.hold(at_s(50), held(HeldReason::kKvGate, 3));
  time.hold(at_s(55), held(HeldReason::kKvGate, 3));
  time.hold(at_s(190), held(HeldReason::kSeqsCap, 2));
  time.settle(at_s(200));
  REQUIRE(time.minutes().size() == 4);
  CHECK(sum_at(time, 0, HeldReason::kKvGate) == 30 * kSecond);
  CHECK(sum_at(time, 1, HeldReason::kKvGate) == 180 * kSecond);
  CHECK(sum_at(time, 2, HeldReason::kKvGate) == 180 * kSecond);
  CHECK(sum_at(time, 3, HeldReason::kKvGate) == 30 * kSecond);
  CHECK(sum_at(time, 3, HeldReason::kSeqsCap) == 20 * kSecond);
}

TEST_CASE("settling twice counts no time twice") {
  HeldTime time;
  time.hold(at_s(0), held(HeldReason::kPaused, 1));
  time.settle(at_s(10));
  time.settle(at_s(10));
  time.settle(at_s(15));
  CHECK(sum_at(time, 0, HeldReason::kPaused) == 15 * kSecond);
}

TEST_CASE("gate, watermark, allocation, head of line and preemption are one limit: KV memory") {
  for (const HeldReason reason : {HeldReason::kKvGate, HeldReason::kWatermark, HeldReason::kKvAllocation,
                                  HeldReason::kHeadOfLine, HeldReason::kPreempted}) {
    CHECK(limit_of(reason) == Limit::kKvMemory);
  }
  CHECK(std::string(to_string(limit_of(HeldReason::kSeqsCap))) == "max_num_seqs");
  CHECK(std::string(to_string(limit_of(HeldReason::kTokenBudget))) == "token budget");
}

TEST_CASE("a minute is named after more than half of its held time, else mixed; without any it is none") {
  HeldCounts half{};
  half[static_cast<std::size_t>(HeldReason::kKvGate)] = 50 * kSecond;
  half[static_cast<std::size_t>(HeldReason::kSeqsCap)] = 50 * kSecond;
  HeldCounts more = half;
  more[static_cast<std::size_t>(HeldReason::kHeadOfLine)] = 1;
  const auto limits = limits_by_minute({minute_of(half), minute_of(more), MinuteCounts{}}, at_s(180));
  CHECK(limits[0].limit == Limit::kMixed);
  CHECK(limits[0].share == 0.5);
  CHECK(limits[1].limit == Limit::kKvMemory);
  CHECK(limits[2].limit == Limit::kNone);
}

TEST_CASE("the mean of a last, partial minute is over that part") {
  const auto limits = limits_by_minute({minute_of(held(HeldReason::kKvGate, 30 * kSecond))}, at_s(15));
  CHECK(limits[0].mean_held == 2.0);
}

MinuteLimit minute(Limit limit, double mean_held) { return {limit, 1.0, mean_held}; }

TEST_CASE("a limit that holds to the end is found from its first minute") {
  const auto found = find_limit({minute(Limit::kSeqs, 50), minute(Limit::kNone, 0),
                                 minute(Limit::kKvMemory, 3), minute(Limit::kKvMemory, 9)},
                                4);
  CHECK(found.limit == Limit::kKvMemory);
  CHECK(found.from_minute == 2);
  CHECK(found.to_end);
}

TEST_CASE("else the heaviest interval is found, with its end") {
  const auto found =
      find_limit({minute(Limit::kSeqs, 2), minute(Limit::kKvMemory, 5), minute(Limit::kKvMemory, 5),
                  minute(Limit::kSeqs, 9), minute(Limit::kNone, 0)},
                 5);
  CHECK(found.limit == Limit::kKvMemory);
  CHECK(found.from_minute == 1);
  CHECK(found.to_minute == 3);
  CHECK(!found.to_end);
}

TEST_CASE(
    "less than one request held on average limits nothing, and minutes past the arrivals are not looked at") {
  CHECK(find_limit({minute(Limit::kKvMemory, 0.9)}, 1).limit == Limit::kNone);
  CHECK(find_limit({minute(Limit::kNone, 0), minute(Limit::kKvMemory, 7)}, 1).limit == Limit::kNone);
  CHECK(find_limit({}, 3).limit == Limit::kNone);
}

TEST_CASE("replicas add up and reasons rank by request time") {
  HeldTime a;
  a.hold(at_s(0), held(HeldReason::kKvGate, 1));
  a.settle(at_s(90));
  HeldTime b;
  b.hold(at_s(0), held(HeldReason::kSeqsCap, 3));
  b.settle(at_s(40));
  const auto minutes = sum_minutes({&a, &b}, HeldTime());
  REQUIRE(minutes.size() == 2);
  const auto limits = rank_limits(minutes);
  REQUIRE(limits.size() == 2);
  CHECK(std::string(limits[0].name) == "max_num_seqs");
  CHECK(limits[0].request_seconds == 120.0);
  CHECK(limits[1].request_seconds == 90.0);
  CHECK(limits[0].share == 120.0 / 210.0);
  CHECK(rank_reasons(minutes).size() == 2);
}

TEST_CASE("requests that no replica has are a limit of their own") {
  HeldCounts two{};
  two[0] = 2;
  HeldTime unrouted;
  unrouted.hold(at_s(0), two);
  unrouted.settle(at_s(30));
  const auto minutes = sum_minutes({}, unrouted);
  CHECK(limits_by_minute(minutes, at_s(30))[0].limit == Limit::kRouting);
  CHECK(std::string(rank_reasons(minutes)[0].name) == "unrouted");
  CHECK(rank_limits(minutes)[0].request_seconds == 60.0);
}

}  // namespace
}  // namespace servetwin::attribution_test
