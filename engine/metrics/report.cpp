// Turns the recorder's sums into the figures of a report.
#include "engine/metrics/report.h"

#include <algorithm>

namespace servetwin {
namespace {

std::int64_t ended(const GroupStats& group, EndState state) {
  return group.ended[static_cast<std::size_t>(state)];
}

Outcomes outcomes_of(const GroupStats& group) {
  Outcomes o;
  o.injected = group.arrived;
  o.ended_by_stop = ended(group, EndState::kStop);
  o.ended_by_length = ended(group, EndState::kLength);
  o.completed = o.ended_by_stop + o.ended_by_length;
  o.rejected = ended(group, EndState::kRejected);
  o.timed_out = ended(group, EndState::kTimedOut);
  o.cancelled = ended(group, EndState::kCancelled);
  o.failed = ended(group, EndState::kFailed);
  o.in_progress = o.injected - o.completed - o.rejected - o.timed_out - o.cancelled - o.failed;
  for (std::size_t r = 1; r < group.reasons.size(); ++r) {
    if (group.reasons[r] > 0) o.reasons.emplace_back(to_string(static_cast<EndReason>(r)), group.reasons[r]);
  }
  return o;
}

ClassReport class_report(const GroupStats& group, std::string name) {
  ClassReport report;
  report.name = std::move(name);
  report.outcomes = outcomes_of(group);
  report.good = group.good;
  report.misses = group.misses;
  report.good_outputs = group.good_outputs.value;
  report.prompts = group.prompts.value;
  report.outputs = group.outputs.value;
  report.all_outputs = group.all_outputs.value;
  report.cached = group.cached.value;
  report.admitted_prompts = group.admitted_prompts.value;
  report.recomputed = group.recomputed.value;
  report.preemptions = group.preemptions;
  report.waste_at_end = group.waste_at_end.value;
  report.held_at_end = group.held_at_end.value;
  report.ttft = group.ttft.distribution();
  report.tpot = group.tpot.distribution();
  report.itl = group.itl.distribution();
  report.e2e = group.e2e.distribution();
  report.queue = group.queue.distribution();
  report.preempted = group.preempted.distribution();
  report.front_end = group.front_end.distribution();
  report.head_of_line = group.head_of_line.distribution();
  report.waste = group.waste.distribution();
  return report;
}

void add_classes(Report& report, const Recorder& recorder) {
  const auto& classes = recorder.options().classes;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    ClassReport one = class_report(recorder.groups()[c], classes[c].name);
    one.slo = classes[c].slo;
    one.has_slo = !one.slo.empty();
    if (one.has_slo) one.judged = one.outcomes.injected - one.outcomes.in_progress;
    report.classes.push_back(std::move(one));
  }
  if (classes.size() == 1) {
    report.measured = report.classes.front();
  } else {
    GroupStats together(recorder.options().exact_limit);
    for (std::size_t c = 0; c < classes.size(); ++c) together.merge(recorder.groups()[c]);
    report.measured = class_report(together, "");
  }
  report.measured.name = "all";
  report.measured.slo = classes.front().slo;
  report.measured.judged = 0;
  for (const ClassReport& one : report.classes) {
    report.measured.judged += one.judged;
    report.measured.has_slo = report.measured.has_slo || one.has_slo;
    if (!(one.slo == classes.front().slo)) report.measured.slo = {};
  }
}

UsageReport usage_of(const Recorder& recorder) {
  UsageReport usage;
  const std::int64_t span = to_ns(recorder.end());
  const auto replicas = static_cast<std::int64_t>(recorder.replicas().size());
  std::int64_t busy = 0;
  std::int64_t capacity = 0;
  Int128 used = 0;
  Int128 running = 0;
  Int128 waiting = 0;
  for (const ReplicaStats& r : recorder.replicas()) {
    usage.steps += r.steps;
    usage.tokens += r.tokens;
    usage.prefill_tokens += r.prefill_tokens;
    usage.sequences += r.sequences;
    usage.pure_decode_steps += r.pure_decode_steps;
    usage.graph_steps += r.graph_steps;
    usage.padding_tokens += r.padding_tokens;
    usage.preemptions += r.preemptions;
    usage.swap_out_blocks += r.swap_out_blocks;
    usage.swap_in_blocks += r.swap_in_blocks;
    busy += r.busy_ns;
    capacity += r.capacity_blocks;
    used += r.used_block_ns;
    running += r.running_ns;
    waiting += r.waiting_ns;
    if (const auto peak = share(r.peak_used_blocks, r.capacity_blocks)) {
      usage.kv_peak = std::max(usage.kv_peak.value_or(0), *peak);
    }
  }
  if (span == 0) return usage;
  usage.busy_share = ratio_of(busy, span) / static_cast<double>(replicas);
  if (capacity > 0) usage.kv_mean = ratio_of(used, span) / static_cast<double>(capacity);
  usage.mean_running = ratio_of(running, span);
  usage.mean_waiting = ratio_of(waiting, span);
  usage.mean_in_system = ratio_of(recorder.in_system_ns(), span);
  return usage;
}

void add_limits(Report& report, const Recorder& recorder) {
  std::vector<const HeldTime*> held;
  for (const ReplicaStats& r : recorder.replicas()) held.push_back(&r.held);
  const std::vector<MinuteCounts> minutes = sum_minutes(held, recorder.unrouted());
  report.minutes = limits_by_minute(minutes, report.end);
  report.reasons = rank_reasons(minutes);
  report.limits = rank_limits(minutes);
  // After the last arrival queues only drain: what limits then is no answer.
  const Time until = report.state == RunState::kStalled ? report.end : recorder.last_arrival();
  report.limit = find_limit(report.minutes, static_cast<std::size_t>(until.time_since_epoch() / kMinute) + 1);
}

}  // namespace

std::optional<double> share(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  return static_cast<double>(a) / static_cast<double>(b);
}

double Report::per_second(std::int64_t count) const {
  return makespan_s > 0 ? static_cast<double>(count) / makespan_s : 0;
}

Report make_report(const Recorder& recorder) {
  Report report;
  report.state = recorder.state();
  report.end = recorder.end();
  report.measure_from = recorder.options().measure_from;
  report.measure_to = recorder.options().measure_to;
  GroupStats all(0);
  for (const GroupStats& group : recorder.groups()) {
    all.arrived += group.arrived;
    for (std::size_t i = 0; i < all.ended.size(); ++i) all.ended[i] += group.ended[i];
    for (std::size_t i = 0; i < all.reasons.size(); ++i) all.reasons[i] += group.reasons[i];
  }
  report.all = outcomes_of(all);
  add_classes(report, recorder);
  if (recorder.first_arrival() < recorder.last_end()) {
    report.makespan_s = to_seconds(recorder.last_end() - recorder.first_arrival());
  }
  if (report.measure_to != kTimeNever) {
    report.window_s = to_seconds(report.measure_to - report.measure_from);
    report.window_completed = recorder.window_completed();
    report.window_tokens = recorder.window_tokens();
  }
  if (recorder.seconds().complete()) {
    report.max_tokens_per_second = recorder.seconds().max_tokens();
    report.max_concurrent = recorder.seconds().max_alive();
  }
  report.usage = usage_of(recorder);
  const Time arrivals_end = std::min(report.measure_to, recorder.last_arrival() + Duration{1});
  const Time arrivals_from = std::max(report.measure_from, std::min(recorder.first_arrival(), arrivals_end));
  if (arrivals_from < arrivals_end)
    report.steady = judge_steady_state(recorder.trend(), arrivals_from, arrivals_end);
  add_limits(report, recorder);
  return report;
}

}  // namespace servetwin
