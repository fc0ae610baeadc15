// What happens to a replica between plans: steps come back, requests come, end and go.
#include "engine/serving/replica.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/serving/step_record.h"

namespace servetwin {
namespace {

// In records, an owner of this life held its blocks before the run began.
constexpr std::uint32_t kWarmLife = 0xffffffffU;

}  // namespace

Replica::Replica(ReplicaId id,
                 const EngineConfig& config,
                 RuleSet&& rules,
                 RequestTable& table,
                 const std::vector<Observer*>& observers,
                 EndSink& ends)
    : s_(id, config, std::move(rules), table, observers),
      builder_(s_.rules.step == nullptr ? std::make_unique<StepBuilder>(s_) : s_.rules.step->builder(s_)),
      ends_(ends) {
  CHECK_INVARIANT(config.max_num_batched_tokens.value > 0, config.max_num_batched_tokens);
  CHECK_INVARIANT(config.max_model_len.value < kOpenEnd, config.max_model_len);
  CHECK_INVARIANT(config.max_num_seqs > 0 && config.in_flight.depth > 0, config.max_num_seqs,
                  config.in_flight.depth);
}

EndReason Replica::refuses(const RequestSpec& spec, const EngineConfig& config) {
  if (spec.prompt >= config.max_model_len) return EndReason::kPromptTooLong;
  if (KvWindows::most(config, blocks_for(spec.prompt, config.block_size)) > config.num_blocks - Blocks{1})
    return EndReason::kNeverFits;
  // A prompt that must go in whole and exceeds the budget would wait at the head for ever.
  const bool whole = !config.chunked_prefill && config.long_prefill_token_threshold.value == 0;
  if (whole && spec.prompt > config.max_num_batched_tokens) return EndReason::kNeverFits;
  return EndReason::kNone;
}

void Replica::enqueue(Slot slot) {
  RequestState& state = s_.table[slot];
  state.phase = Phase::kWaiting;
  state.limit = std::min(state.spec.max_tokens, s_.config.max_model_len - state.spec.prompt).value;
  state.growth_shared = s_.config.prefix_caching && state.spec.continues_content;
  state.queued.head_of_line_mark = s_.head_of_line;
  groups_seen_ = std::max(groups_seen_, state.spec.stat_group + 1);
  s_.classify(slot);
  state.set_aside = state.blocked_as.has_value();
  (state.set_aside ? s_.skipped : s_.waiting).push_back(slot, state);
  for (RuleListener* listener : s_.listeners) listener->on_joined(state.spec, state.ready);
}

void Replica::unblock(Slot slot) { s_.classify(slot); }

bool Replica::warm(const RequestSpec& spec) {
  if (!s_.config.prefix_caching || refuses(spec, s_.config) != EndReason::kNone) return false;
  CHECK_INVARIANT(!has_work(), raw(spec.id));
  std::vector<ContentRun> runs;
  std::vector<KvExtent> hits;
  content_runs(spec, s_.config.block_size, s_.config.hash_seed, runs);
  const auto full = static_cast<std::int32_t>(spec.prompt / s_.config.block_size);
  if (s_.windows.any()) {
    s_.windows.serve(s_.kv(), spec.id, kWarmLife, runs, full);
    s_.kv().clear_taken();
    return true;
  }
  s_.kv().lookup(runs, full, hits);
  const std::int32_t hit = hits.empty() ? 0 : hits.back().end;
  const OwnerSlot owner = s_.kv().open_owner(spec.id, kWarmLife, hits);
  s_.kv().take(full - hit);
  s_.kv().extend(owner, full);
  for (const ContentRun& run : runs) {
    s_.kv().publish(owner, run, std::max(run.first, hit), std::min(run.end, full));
  }
  s_.kv().release(owner);
  s_.kv().clear_taken();
  return true;
}

// Whether the pool's members of the step in flight include it.
bool Replica::in_step(const RequestState& state) const {
  return state.parked && !s_.in_flight.empty() && s_.in_flight.back().pooled;
}

void Replica::unpark(Slot slot, bool in_flight) {
  RequestState& state = s_.table[slot];
  s_.pool.unpark(slot, in_flight, s_.kv());
  if (state.growth_shared) --s_.shared_growers;
  state.last_token = s_.last_end;
}

// Out of its queue or the running ones, with its blocks given back.
void Replica::let_go(Slot slot) {
  RequestState& state = s_.table[slot];
  for (RuleListener* listener : s_.listeners) listener->on_left(state.spec);
  if (!s_.skips.empty()) s_.skips.erase(state.spec.id);
  if (state.phase == Phase::kWaiting) {
    (state.set_aside ? s_.skipped : s_.waiting).remove(slot, state);
    if (state.blocked_as.has_value()) --s_.blocked[static_cast<std::size_t>(*state.blocked_as)];
    if (state.swapped) s_.leave_host(state);
    return;
  }
  if (state.parked) {
    unpark(slot, in_step(state));
  } else {
    s_.running.erase(std::find(s_.running.begin(), s_.running.end(), slot));
  }
  if (state.window_closed) --s_.closed_windows;
  // Text generated while parked becomes findable now; nobody else could have asked for it before.
  builder_->publish(state);
  s_.release_blocks(state);
}

void Replica::leave(Slot slot, EndState as) {
  let_go(slot);
  const RequestState& state = s_.table[slot];
  s_.decisions.add(record_word(RecordTag::kEnd, raw(state.spec.id)));
  s_.decisions.add_signed(static_cast<std::int64_t>(as));
  s_.decisions.add_signed(state.outputs);
}

void Replica::finish(Slot slot, EndState as, EndReason reason, Time now) {
  leave(slot, as);
  ends_.on_replica_end(slot, as, reason, now);
}

void Replica::announce_end(Slot slot, StepId step, EndState as) {
  RequestState& state = s_.table[slot];
  state.stopping = true;
  state.stopping_step = step;
  state.stopping_as = as;
  if (state.parked) s_.stopping.push_back(slot);
}

void Replica::set_window(Slot slot, bool open) {
  RequestState& state = s_.table[slot];
  if (state.window_closed == !open) return;
  state.window_closed = !open;
  if (state.phase == Phase::kRunning) s_.closed_windows += open ? -1 : 1;
  s_.classify(slot);
}

bool Replica::plan_step(Time now) {
  if (!builder_->build(now)) return false;
  InFlightStep& step = s_.in_flight.emplace_back();
  step.step = s_.plan.step;
  step.planned = now;
  step.shape = s_.plan.shape;
  step.pooled = s_.plan_pooled && s_.pool.size() > 0;
  step.rows.swap(spare_rows_);
  step.rows = s_.plan.rows;
  return true;
}

void Replica::step_done(StepId step_id, Time now) {
  CHECK_INVARIANT(!s_.in_flight.empty(), raw(step_id));
  InFlightStep& step = s_.in_flight.front();
  CHECK_INVARIANT(step.step == step_id, raw(step.step), raw(step_id));
  s_.timeline.add_signed(to_ns(now));
  for (Observer* observer : s_.observers)
    observer->on_step_done(s_.id, step.step, step.shape, step.planned, now);
  const bool pooled = step.pooled;
  std::vector<StepRow> rows = std::move(step.rows);
  s_.in_flight.erase(s_.in_flight.begin());  // there are hardly ever more than two
  delivering_ = step_id;
  previous_end_ = s_.last_end;
  s_.last_end = now;
  count_pool_gaps(pooled);
  if (!s_.listeners.empty()) tell_outputs(rows, now);
  finish_announced_and_due(pooled, now);
  deliver(rows, now);
  tell_pool_gaps(now);
  if (s_.shortcut_allowed()) park_decoders(now);
  spare_rows_.swap(rows);
}

// Members of the pool that end with the step being delivered, in running order.
void Replica::finish_announced_and_due(bool pooled, Time now) {
  ending_.clear();
  if (pooled && s_.pool.may_end()) s_.pool.ending(ending_);
  for (const Slot slot : s_.stopping) {
    const RequestState& state = s_.table[slot];
    if (state.spec.id == kNoRequest || !state.parked || !state.stopping || state.stopping_step != delivering_)
      continue;
    if (std::find(ending_.begin(), ending_.end(), slot) == ending_.end()) ending_.push_back(slot);
  }
  s_.stopping.clear();
  std::sort(ending_.begin(), ending_.end(),
            [this](Slot a, Slot b) { return s_.table[a].admission < s_.table[b].admission; });
  for (const Slot slot : ending_) {
    RequestState& state = s_.table[slot];
    const EndState as = state.stopping ? state.stopping_as : EndState::kLength;
    finish(slot, as, as == EndState::kFailed ? EndReason::kBackend : EndReason::kNone, now);
  }
}

void Replica::tell_outputs(const std::vector<StepRow>& rows, Time now) {
  for (const StepRow& row : rows) {
    const RequestState& state = s_.table[row.slot];
    if (state.spec.id != row.request || !row.sampled) continue;
    for (RuleListener* listener : s_.listeners) listener->on_output(state.spec, now);
  }
}

void Replica::deliver(const std::vector<StepRow>& rows, Time now) {
  const Time previous = previous_end_;
  const bool all_usual = previous != kTimeNever && !s_.config.in_flight.speculate_outputs;
  for (const StepRow& row : rows) {
    RequestState& state = s_.table[row.slot];
    if (state.spec.id != row.request) continue;
    const bool as_usual = all_usual && state.last_token == previous && state.phase == Phase::kRunning &&
                          row.sampled && !state.stopping && state.outputs + 1 < state.limit;
    if (!as_usual) {
      deliver_row(row, now);
      continue;
    }
    --state.in_flight;
    ++state.outputs;
    state.last_token = now;
    ++regular_gaps_[state.spec.stat_group];
  }
}

void Replica::deliver_row(const StepRow& row, Time now) {
  RequestState& state = s_.table[row.slot];
  --state.in_flight;
  if (state.phase == Phase::kWaiting) s_.classify(row.slot);
  if (!row.sampled) return;
  if (s_.config.in_flight.speculate_outputs) --state.placeholders;
  ++state.outputs;
  if (state.first_token == kTimeNever) {
    state.first_token = now;
    for (Observer* observer : s_.observers) observer->on_first_token(state.spec, now);
  } else {
    tell_gap(state, now);
  }
  state.last_token = now;
  if (state.stopping && state.stopping_step == delivering_) {
    finish(row.slot, state.stopping_as,
           state.stopping_as == EndState::kFailed ? EndReason::kBackend : EndReason::kNone, now);
  } else if (state.outputs == state.limit) {
    finish(row.slot, EndState::kLength, EndReason::kNone, now);
  }
}

void Replica::tell_gap(const RequestState& state, Time now) {
  if (state.last_token == previous_end_) {
    ++regular_gaps_[state.spec.stat_group];
    return;
  }
  const Duration gap = now - state.last_token;
  for (Observer* observer : s_.observers)
    observer->on_gaps(s_.id, state.spec.stat_group, gap, 1, now, state.spec.id);
}

void Replica::count_pool_gaps(bool pooled) {
  for (std::size_t group = 0; group < static_cast<std::size_t>(groups_seen_); ++group) {
    regular_gaps_[group] = pooled ? s_.pool.groups()[group] : 0;
  }
}

void Replica::tell_pool_gaps(Time now) {
  for (int group = 0; group < groups_seen_; ++group) {
    const std::int64_t count = regular_gaps_[static_cast<std::size_t>(group)];
    if (count == 0) continue;
    const Duration gap = now - previous_end_;
    for (Observer* observer : s_.observers) observer->on_gaps(s_.id, group, gap, count, now, kNoRequest);
  }
}

// Whether a member of the pool generates the same findable text: who publishes a block first matters then, so
// the plain loop must tell.
bool Replica::grows_as_another(const RequestState& state) const {
  if (!state.growth_shared || s_.shared_growers == 0 || state.runs.empty()) return false;
  for (const Slot member : s_.pool.members()) {
    const RequestState& other = s_.table[member];
    if (other.growth_shared && other.runs.back().key == state.runs.back().key) return true;
  }
  return false;
}

// Those whose next step is one token join the pool.
void Replica::park_decoders(Time now) {
  std::size_t kept = 0;
  for (const Slot slot : s_.running) {
    RequestState& state = s_.table[slot];
    const bool ready = state.decoding && state.computed + 1 == state.known() && state.last_token == now;
    if (!ready || grows_as_another(state)) {
      s_.running[kept++] = slot;
      continue;
    }
    s_.pool.park(slot);
    if (state.growth_shared) ++s_.shared_growers;
    s_.last_pool_admission = std::max(s_.last_pool_admission, state.admission);
  }
  s_.running.resize(kept);
}

bool Replica::can_advance() const {
  if (!s_.shortcut_allowed() || !s_.steady || s_.paused || s_.closed_windows > 0) return false;
  if (s_.config.batching_delay.count() > 0) return false;
  if (!s_.running.empty() || s_.pool.size() == 0 || s_.pool.size() > s_.config.max_num_batched_tokens.value)
    return false;
  if (s_.in_flight.size() != 1 || !s_.in_flight.front().pooled || !s_.in_flight.front().rows.empty())
    return false;
  return s_.stopping.empty() && can_go_on();
}

const StepPlan& Replica::advance(Time end) {
  InFlightStep& step = s_.in_flight.front();
  s_.timeline.add_signed(to_ns(end));
  previous_end_ = s_.last_end;
  s_.last_end = end;
  builder_->repeat_decode(end);
  const DecodeStep told{s_.plan,          step.step,   step.shape, step.planned, end - previous_end_,
                        s_.pool.groups(), groups_seen_};
  for (Observer* observer : s_.observers) observer->on_decode_step(told);
  step.step = s_.plan.step;
  step.planned = end;
  // Nothing else of the shape changes.
  step.shape.decode_context = s_.plan.shape.decode_context;
  step.shape.max_context = s_.plan.shape.max_context;
  return s_.plan;
}

bool Replica::reset_cache(bool forced, Time now) {
  if (forced) preempt_all(now);
  return s_.kv().reset_cache();
}

// Everyone goes back to waiting in running order; what is in flight is discarded, and so is the host tier.
void Replica::preempt_all(Time now) {
  s_.plan.time = now;
  s_.plan.entries.clear();
  s_.words.clear();
  const bool pooled = !s_.in_flight.empty() && s_.in_flight.back().pooled;
  const std::vector<Slot> members = s_.pool.members();
  for (const Slot slot : members) {
    unpark(slot, pooled);
    s_.running.push_back(slot);
  }
  std::sort(s_.running.begin(), s_.running.end(),
            [this](Slot a, Slot b) { return s_.table[a].admission < s_.table[b].admission; });
  for (InFlightStep& step : s_.in_flight) {
    for (const StepRow& row : step.rows) {
      RequestState& state = s_.table[row.slot];
      if (state.spec.id != row.request) continue;
      state.in_flight = state.placeholders = 0;
      s_.classify(row.slot);
    }
    step.rows.clear();
    step.pooled = false;
  }
  while (!s_.running.empty()) {
    const Slot slot = s_.running.back();
    builder_->preempt(s_.running.size() - 1, kNoRequest);
    s_.classify(slot);
  }
  for (Slot slot = 0; slot < s_.table.capacity(); ++slot) {
    RequestState& state = s_.table[slot];
    if (state.spec.id != kNoRequest && state.replica == s_.id && state.swapped) s_.leave_host(state);
  }
  s_.decisions.add(record_word(RecordTag::kReset, s_.words.size()));
  for (const std::uint64_t word : s_.words) s_.decisions.add(word);
}

ReplicaView Replica::view() const {
  ReplicaView view;
  view.id = s_.id;
  view.state = s_.draining ? ReplicaState::kDraining : ReplicaState::kUp;
  view.running = s_.num_running();
  view.waiting = s_.num_waiting();
  view.max_num_seqs = s_.config.max_num_seqs;
  view.free_blocks = s_.kv().free();
  return view;
}

}  // namespace servetwin
