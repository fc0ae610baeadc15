// Everything a run's report says, as plain data: made once from the recorder, read by every writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/metrics/recorder.h"

namespace servetwin {

// injected = completed + rejected + timed_out + cancelled + failed + in_progress.
struct Outcomes {
  std::int64_t injected = 0;
  std::int64_t completed = 0;
  std::int64_t rejected = 0;
  std::int64_t timed_out = 0;
  std::int64_t cancelled = 0;
  std::int64_t failed = 0;
  std::int64_t in_progress = 0;
  std::int64_t ended_by_stop = 0;  // parts of completed
  std::int64_t ended_by_length = 0;
  std::vector<std::pair<std::string, std::int64_t>>
      reasons;  // why requests did not complete; only those that occur
};

// Requests of one class, or of all measured classes. Distributions are in nanoseconds, of completed requests
// only.
struct ClassReport {
  std::string name;
  Slo slo;
  bool has_slo = false;  // some limit applies (for all classes together: in any of them)
  Outcomes outcomes;
  std::int64_t judged = 0;  // that ended, in classes with some limit: what `good` is a part of
  std::int64_t good = 0;
  SloMisses misses{};
  std::int64_t good_outputs = 0;
  std::int64_t prompts = 0;  // tokens, completed requests
  std::int64_t outputs = 0;
  std::int64_t all_outputs = 0;
  std::int64_t cached = 0;
  std::int64_t admitted_prompts = 0;
  std::int64_t recomputed = 0;
  std::int64_t preemptions = 0;
  std::int64_t waste_at_end = 0;
  std::int64_t held_at_end = 0;
  Distribution ttft, tpot, itl, e2e, queue, preempted, front_end, head_of_line;
  Distribution waste;  // tokens

  std::int64_t missed(SloLimit limit) const { return misses[static_cast<std::size_t>(limit)]; }
};

// What the replicas did, from time zero to the end of the run.
struct UsageReport {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t sequences = 0;
  std::int64_t pure_decode_steps = 0;
  std::int64_t graph_steps = 0;
  std::int64_t padding_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t swap_out_blocks = 0;  // KV blocks copied to the host
  std::int64_t swap_in_blocks = 0;   // and back
  double busy_share = 0;             // of replica time
  std::optional<double> kv_mean;     // share of the pool in use, over replica time; null before any plan
  std::optional<double> kv_peak;     // of the replica where it was largest
  double mean_running = 0;           // requests, over all replicas
  double mean_waiting = 0;
  double mean_in_system = 0;
};

struct Report {
  RunState state = RunState::kComplete;
  Time end = kTimeZero;
  Time measure_from = kTimeZero;
  Time measure_to = kTimeNever;
  Outcomes all;          // measured or not
  ClassReport measured;  // all classes together
  std::vector<ClassReport> classes;
  double makespan_s = 0;              // first measured arrival to last measured end
  std::optional<double> window_s;     // length of the measured window where one was set
  std::int64_t window_completed = 0;  // of all requests, inside that window
  std::int64_t window_tokens = 0;
  std::optional<std::int64_t> max_tokens_per_second;
  std::optional<std::int64_t> max_concurrent;
  UsageReport usage;
  SteadyState steady;
  std::vector<MinuteLimit> minutes;
  std::vector<HeldShare> reasons;
  std::vector<HeldShare> limits;
  LimitFinding limit;

  bool complete() const { return state != RunState::kInterrupted; }
  // `count` over the makespan; 0 without one.
  double per_second(std::int64_t count) const;
};

// After Recorder::finish.
Report make_report(const Recorder& recorder);

// The share a / b, or nothing when b is 0.
std::optional<double> share(std::int64_t a, std::int64_t b);

}  // namespace servetwin
