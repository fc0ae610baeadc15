// Watches the core and adds up everything a report needs. Memory does not grow with requests above the exact
// size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/metrics/run_stats.h"
#include "engine/metrics/series.h"
#include "engine/metrics/slo.h"
#include "engine/serving/observer.h"

namespace servetwin {

struct TrafficClass {
  std::string name;
  Slo slo;
};

struct RecorderOptions {
  std::vector<TrafficClass> classes = {{"default", {}}};  // by ClassId
  std::size_t num_replicas = 1;
  // The measured window; requests whose arrival lies in it carry a measured stat group (slo.h).
  Time measure_from = kTimeZero;
  Time measure_to = kTimeNever;
  Duration output_delay{0};  // from a token to its client; part of TTFT and E2E
  std::size_t exact_limit = Samples::kExactLimit;
};

// How a run ended.
enum class RunState : std::uint8_t { kComplete, kInterrupted, kStalled };

class Recorder final : public Observer {
 public:
  explicit Recorder(RecorderOptions options);

  void on_arrived(const RequestSpec& request, Time now) override;
  void on_routed(const RequestSpec& request, ReplicaId replica, Time now) override;
  void on_plan(const StepPlan& plan) override;
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) override;
  // on_step_done comes before the first tokens, single gaps and ends of that step.
  void on_gaps(
      ReplicaId replica, int stat_group, Duration gap, std::int64_t count, Time end, RequestId one) override;
  void on_decode_step(const DecodeStep& step) override;
  void on_first_token(const RequestSpec& request, Time now) override;
  void on_end(const RequestRecord& record) override;

  // No more calls follow; `end` is the time of the last event. Checks that every arrival ended or is still in
  // the system, and Little's law exactly if none is. May be called again later after more calls.
  void finish(Time end, RunState state);

  const RecorderOptions& options() const { return options_; }
  RunState state() const { return state_; }
  Time end() const { return end_; }
  // By stat group: measured classes first, then the others.
  const std::vector<GroupStats>& groups() const { return groups_; }
  const std::vector<ReplicaStats>& replicas() const { return replicas_; }
  // Requests that arrived and are with no replica yet, under the first reason.
  const HeldTime& unrouted() const { return unrouted_; }
  const SecondSeries& seconds() const { return seconds_; }
  const TrendSeries& trend() const { return trend_; }
  std::int64_t in_system() const { return in_system_; }
  // Request-nanoseconds in the system: as the integral of the number of requests, and as the sum of the
  // sojourns.
  Int128 in_system_ns() const { return in_system_ns_; }
  Int128 sojourn_ns() const { return sojourn_ns_; }
  // Arrival of the first and end of the last measured request; kTimeNever and zero without any.
  Time first_arrival() const { return first_arrival_; }
  Time last_arrival() const { return last_arrival_; }
  Time last_end() const { return last_end_; }
  // Of all requests, what happened inside the measured window.
  std::int64_t window_completed() const { return window_completed_; }
  std::int64_t window_tokens() const { return window_tokens_; }

 private:
  // A class with slo.itl.
  struct ItlLimit {
    std::size_t traffic_class = 0;
    Duration limit{};
  };
  // Gaps above slo.itl of one request. Those of steps in which it advanced like everybody are a difference of
  // the replica's running count; those after steps it missed are its own.
  struct OverLimit {
    ReplicaId replica = kNoReplica;
    std::int64_t common_before =
        0;  // the running count at the first token, plus what was never this request's
    std::int64_t own = 0;
    Time known_token = kTimeNever;  // a token at which the running count is known
    std::int64_t known_count = 0;
  };

  bool in_window(Time t) const { return t >= options_.measure_from && t < options_.measure_to; }
  ReplicaStats& settle(ReplicaId replica, Time now);
  std::int64_t& over_steps(ReplicaId replica, ClassId traffic_class) {
    return over_steps_[raw(replica) * static_cast<std::size_t>(kMaxClasses) + raw(traffic_class)];
  }
  // Tells the gaps that one step gave to `count` requests of the group.
  void add_gaps(std::size_t stat_group, Duration gap, std::int64_t count, Time end) {
    groups_[stat_group].itl.add(to_ns(gap), count);
    if (is_measured(static_cast<int>(stat_group))) seconds_.add_tokens(end, count);
    if (in_window(end)) window_tokens_ += count;
  }
  void count_step(ReplicaStats& r, ReplicaId replica, const StepShape& shape, Time planned, Time end);
  void count_in_system(Time at, std::int64_t change);
  void count_unrouted(Time now, std::int64_t change);
  void add_own_gap(OverLimit& over, ClassId traffic_class, Duration gap, Time end);
  void add_finished(GroupStats& group, const RequestRecord& record, std::int64_t over_gaps);
  std::int64_t take_over_gaps(const RequestRecord& record);

  RecorderOptions options_;
  std::vector<GroupStats> groups_;
  std::vector<ReplicaStats> replicas_;
  std::vector<ItlLimit> itl_limits_;
  std::vector<std::int64_t> over_steps_;  // by replica and class: steps whose common gap exceeded the limit
  FlatMap<std::uint64_t, OverLimit> over_limits_;  // by request in the system, where the class has slo.itl
  HeldTime unrouted_;
  HeldCounts unrouted_now_{};
  SecondSeries seconds_;
  TrendSeries trend_;
  RunState state_ = RunState::kInterrupted;
  Time end_ = kTimeZero;
  Time first_arrival_ = kTimeNever;
  Time last_arrival_ = kTimeZero;
  Time last_end_ = kTimeZero;
  std::int64_t in_system_ = 0;
  Time in_system_since_ = kTimeZero;
  Int128 in_system_ns_ = 0;
  Int128 sojourn_ns_ = 0;
  std::int64_t window_completed_ = 0;
  std::int64_t window_tokens_ = 0;
};

}  // namespace servetwin
