// The recorder's calls: a few additions per step, samples per request.
#include "engine/metrics/recorder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

std::size_t token_bucket(std::int64_t tokens) {
  const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 1) - 1);
  constexpr std::size_t kLastBucket = std::tuple_size_v<decltype(ReplicaStats::steps_by_tokens)> - 1;
  return std::min(static_cast<std::size_t>(std::bit_width(last)), kLastBucket);
}

bool happened(Time t) { return t != kTimeNever; }

// Counts every limit that the completed request missed; true if there was none.
bool meets(
    const Slo& slo, const RequestRecord& record, Duration delay, std::int64_t over_gaps, SloMisses& misses) {
  const std::int64_t gaps = std::max<std::int64_t>(record.outputs.value - 1, 0);
  const Duration decode = record.last_token - record.first_token;
  bool good = true;
  const auto judge = [&](SloLimit limit, bool missed) {
    misses[static_cast<std::size_t>(limit)] += missed ? 1 : 0;
    good = good && !missed;
  };
  judge(SloLimit::kTtft, slo.ttft && record.first_token - record.arrival + delay > *slo.ttft);
  judge(SloLimit::kTpot, slo.tpot && static_cast<Int128>(to_ns(*slo.tpot)) * gaps < to_ns(decode));
  judge(SloLimit::kItl, slo.itl && !meets_itl(gaps, over_gaps));
  judge(SloLimit::kE2e, slo.e2e && record.last_token - record.arrival + delay > *slo.e2e);
  return good;
}

}  // namespace

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)),
      groups_(kMaxStatGroups, GroupStats(options_.exact_limit)),
      replicas_(options_.num_replicas),
      over_steps_(options_.num_replicas * kMaxClasses) {
  CHECK_INVARIANT(!options_.classes.empty());
  CHECK_INVARIANT(options_.classes.size() <= kMaxClasses, options_.classes.size());
  for (std::size_t c = 0; c < options_.classes.size(); ++c) {
    if (const auto& limit = options_.classes[c].slo.itl) itl_limits_.push_back({c, *limit});
  }
}

// The integral is linear in the arrivals and ends, so it is exact even when two replicas report out of order.
void Recorder::count_in_system(Time at, std::int64_t change) {
  in_system_ns_ += static_cast<Int128>(in_system_) * to_ns(at - in_system_since_);
  in_system_since_ = at;
  in_system_ += change;
}

void Recorder::count_unrouted(Time now, std::int64_t change) {
  unrouted_now_[0] += change;
  unrouted_.hold(now, unrouted_now_);
}

void Recorder::on_arrived(const RequestSpec& request, Time now) {
  count_in_system(request.arrival, 1);
  count_unrouted(now, 1);
  trend_.add_arrival(request.arrival);
  ++groups_[request.stat_group].arrived;
  if (!is_measured(request.stat_group)) return;
  first_arrival_ = std::min(first_arrival_, request.arrival);
  last_arrival_ = std::max(last_arrival_, request.arrival);
}

void Recorder::on_routed(const RequestSpec& request, ReplicaId replica, Time now) {
  count_unrouted(now, -1);
  ++replicas_[raw(replica)].in_system;
  if (options_.classes[raw(request.traffic_class)].slo.itl) {
    over_limits_.insert(raw(request.id), {}).first->replica = replica;
  }
}

ReplicaStats& Recorder::settle(ReplicaId replica, Time now) {
  ReplicaStats& r = replicas_[raw(replica)];
  const std::int64_t elapsed = to_ns(now - r.plan_time);
  r.used_block_ns += static_cast<Int128>(r.used) * elapsed;
  r.running_ns += static_cast<Int128>(r.running) * elapsed;
  r.waiting_ns += static_cast<Int128>(r.waiting) * elapsed;
  r.plan_time = now;
  return r;
}

// Inline: each step pays for it.
inline void Recorder::count_step(
    ReplicaStats& r, ReplicaId replica, const StepShape& shape, Time planned, Time end) {
  ++r.steps;
  r.tokens += shape.tokens;
  r.prefill_tokens += shape.prefill_tokens;
  r.sequences += shape.sequences;
  r.pure_decode_steps += shape.pure_decode() ? 1 : 0;
  r.padding_tokens += shape.padding_tokens;
  if (shape.graph_size > 0) {
    ++r.graph_steps;
    r.padding_tokens += shape.graph_size - shape.tokens;
  }
  ++r.steps_by_tokens[token_bucket(shape.tokens)];
  for (const ItlLimit& itl : itl_limits_) {
    const bool over = end - r.step_end > itl.limit;
    over_steps(replica, ClassId{static_cast<std::uint8_t>(itl.traffic_class)}) += over ? 1 : 0;
  }
  // Steps in flight together overlap; the time they share is counted once.
  r.busy_ns += to_ns(end - std::max(planned, r.step_end));
  r.step_end = end;
}

void Recorder::on_plan(const StepPlan& plan) {
  ReplicaStats& r = settle(plan.replica, plan.time);
  r.used = plan.used_blocks.value;
  r.running = plan.running;
  r.waiting = plan.waiting;
  r.peak_used_blocks = std::max(r.peak_used_blocks, r.used);
  r.capacity_blocks = r.used + plan.free_blocks.value;
  for (const PlanEntry& entry : plan.entries) r.preemptions += entry.action == PlanAction::kPreempt ? 1 : 0;
  r.swap_out_blocks += plan.shape.swap_out_blocks;
  r.swap_in_blocks += plan.shape.swap_in_blocks;
  r.held.hold(plan.time, plan.held);
}

void Recorder::on_decode_step(const DecodeStep& step) {
  const StepPlan& plan = step.plan;
  ReplicaStats& r = settle(plan.replica, plan.time);
  count_step(r, plan.replica, step.shape, step.planned, plan.time);
  for (std::size_t group = 0; group < static_cast<std::size_t>(step.num_groups); ++group) {
    if (step.decoders[group] > 0) add_gaps(group, step.gap, step.decoders[group], plan.time);
  }
  // Nobody else came or went, so only blocks changed hands.
  r.used = plan.used_blocks.value;
  r.peak_used_blocks = std::max(r.peak_used_blocks, r.used);
}

void Recorder::on_step_done(ReplicaId replica, StepId, const StepShape& shape, Time planned, Time end) {
  count_step(replicas_[raw(replica)], replica, shape, planned, end);
}

void Recorder::on_gaps(ReplicaId, int stat_group, Duration gap, std::int64_t count, Time end, RequestId one) {
  add_gaps(static_cast<std::size_t>(stat_group), gap, count, end);
  if (one == kNoRequest || itl_limits_.empty()) return;
  const auto traffic_class = ClassId{static_cast<std::uint8_t>(stat_group % kMaxClasses)};
  if (OverLimit* over = over_limits_.find(raw(one))) add_own_gap(*over, traffic_class, gap, end);
}

// A request that advances every other step misses all common gaps: where the count at its previous token is
// known, the steps since then are taken out. Where it is not, they stay in, so the request is judged too
// strictly, never mildly.
void Recorder::add_own_gap(OverLimit& over, ClassId traffic_class, Duration gap, Time end) {
  const std::int64_t count = over_steps(over.replica, traffic_class);
  if (over.known_token == end - gap) over.common_before += count - over.known_count;
  over.known_token = end;
  over.known_count = count;
  over.own += gap > *options_.classes[raw(traffic_class)].slo.itl ? 1 : 0;
}

void Recorder::on_first_token(const RequestSpec& request, Time now) {
  if (is_measured(request.stat_group)) seconds_.add_tokens(now, 1);
  if (in_window(now)) ++window_tokens_;
  if (OverLimit* over = over_limits_.find(raw(request.id))) {
    over->common_before = over->known_count = over_steps(over->replica, request.traffic_class);
    over->known_token = now;
  }
}

void Recorder::on_end(const RequestRecord& record) {
  count_in_system(record.end, -1);
  sojourn_ns_ += to_ns(record.end - record.arrival);
  trend_.add_end(record.end);
  GroupStats& group = groups_[record.stat_group];
  ++group.ended[static_cast<std::size_t>(record.end_state)];
  ++group.reasons[static_cast<std::size_t>(record.end_reason)];
  group.all_outputs += record.outputs;
  group.recomputed += record.recomputed;
  group.preemptions += record.preemptions;
  if (happened(record.first_scheduled)) {
    group.admitted_prompts += record.prompt;
    group.cached += record.cached;
  }
  if (is_measured(record.stat_group)) last_end_ = std::max(last_end_, record.end);
  if (record.replica == kNoReplica) {
    count_unrouted(record.end, -1);
  } else {
    ReplicaStats& replica = replicas_[raw(record.replica)];
    if (--replica.in_system == 0) {
      // No plan follows until somebody comes: nothing is held, and no block is in use.
      settle(record.replica, record.end);
      replica.used = replica.running = replica.waiting = 0;
      replica.held.hold(record.end, HeldCounts{});
    }
  }
  const std::int64_t over_gaps = take_over_gaps(record);
  if (is_finished(record.end_state)) add_finished(group, record, over_gaps);
}

void Recorder::add_finished(GroupStats& group, const RequestRecord& record, std::int64_t over_gaps) {
  group.prompts += record.prompt;
  group.outputs += record.outputs;
  group.waste_at_end += record.waste_at_end;
  group.held_at_end += record.held_at_end;
  group.waste.add(record.waste_at_end.value);
  group.prompt_lengths.add(record.prompt.value);
  group.output_lengths.add(record.outputs.value);
  group.preempted.add(to_ns(record.preempted));
  group.head_of_line.add(to_ns(record.head_of_line));
  const Time ready = happened(record.ready) ? record.ready : record.arrival;
  group.front_end.add(to_ns(ready - record.arrival + options_.output_delay));
  if (in_window(record.end)) ++window_completed_;
  if (happened(record.first_scheduled)) group.queue.add(to_ns(record.first_scheduled - ready));
  if (happened(record.first_token)) {
    group.ttft.add(to_ns(record.first_token - record.arrival + options_.output_delay));
    group.e2e.add(to_ns(record.last_token - record.arrival + options_.output_delay));
    group.decode.add(to_ns(record.last_token - record.first_token));
    group.prefill.add(to_ns(record.first_token - record.first_scheduled));
    group.inference.add(to_ns(record.last_token - record.first_scheduled));
    if (is_measured(record.stat_group)) {
      seconds_.add_life(record.arrival, record.last_token);
      trend_.add_ttft(record.arrival, record.first_token - record.arrival + options_.output_delay);
    }
  }
  if (const auto tpot = tpot_of(record.first_token, record.last_token, record.outputs))
    group.tpot.add(to_ns(*tpot));
  const Slo& slo = options_.classes[raw(record.traffic_class)].slo;
  if (!slo.empty() && meets(slo, record, options_.output_delay, over_gaps, group.misses)) {
    ++group.good;
    group.good_outputs += record.outputs;
  }
}

std::int64_t Recorder::take_over_gaps(const RequestRecord& record) {
  const OverLimit* over = over_limits_.find(raw(record.id));
  if (over == nullptr) return 0;
  const std::int64_t common = over_steps(over->replica, record.traffic_class) - over->common_before;
  const std::int64_t all = common + over->own;
  over_limits_.erase(raw(record.id));
  return all;
}

void Recorder::finish(Time end, RunState state) {
  std::int64_t arrived = 0;
  std::int64_t ended = 0;
  for (const GroupStats& group : groups_) {
    arrived += group.arrived;
    for (const std::int64_t count : group.ended) ended += count;
  }
  CHECK_INVARIANT(arrived == ended + in_system_, arrived, ended, in_system_);
  if (state == RunState::kComplete) CHECK_INVARIANT(in_system_ == 0, in_system_);
  if (in_system_ == 0) {
    CHECK_INVARIANT(in_system_ns_ == sojourn_ns_, static_cast<std::int64_t>(in_system_ns_),
                    static_cast<std::int64_t>(sojourn_ns_));
  }
  state_ = state;
  end_ = std::max(end, end_);
  unrouted_.settle(end_);
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    settle(ReplicaId{static_cast<std::uint16_t>(i)}, end_).held.settle(end_);
  }
}

}  // namespace servetwin
