// The waiting half of a step: who is looked at, prefix hits, the admission rule, and why the others wait.
#include <algorithm>
#include <limits>

#include "engine/base/check.h"
#include "engine/serving/step_builder.h"
#include "engine/serving/step_record.h"

namespace servetwin {

// Nobody enters in a step that preempted. Blocked requests are set aside and do not stop the scan; a refusal
// does.
void StepBuilder::admit_waiting() { count_waiting(scan_waiting()); }

// Why the scan ended, or nothing.
std::optional<HeldReason> StepBuilder::scan_waiting() {
  set_aside_.clear();
  passed_.clear();
  std::optional<HeldReason> refusal;
  std::optional<HeldReason> passed;
  if (r_.paused) refusal = HeldReason::kPaused;
  if (preempted_) refusal = HeldReason::kPreempted;
  while (!refusal.has_value()) {
    WaitingQueue* queue = next_queue();
    if (queue == nullptr) break;
    if (budget_ == 0) {
      refusal = HeldReason::kTokenBudget;
    } else if (r_.num_running() == r_.config.max_num_seqs) {
      refusal = HeldReason::kSeqsCap;
    } else {
      const Slot slot = queue->head();
      if (set_aside_blocked(*queue, slot)) continue;
      refusal = try_admit(*queue, slot);
      if (!refusal.has_value() || !may_skip(slot, *refusal)) continue;
      if (!passed.has_value()) passed = refusal;
      refusal.reset();
      queue->pop();
      set_aside_.push_back(slot);
      passed_.push_back(slot);
    }
  }
  return refusal.has_value() ? refusal : passed;
}

// What a changing order sees of those who wait, taken once a plan.
void StepBuilder::look_at_waiting() {
  WaitingOrder& order = *r_.rules.waiting_order;
  if (r_.num_waiting() == 0) return;
  publish_shared_growth();  // as far as the last plan: the plain loop has published it by now
  order.on_plan(r_.plan.time, r_.num_waiting());
  std::function<std::int64_t(RequestState&)> hit;
  if (order.sees_cache()) hit = [this](RequestState& state) { return look_up(state); };
  r_.waiting.look(r_.plan.time, hit);
  r_.skipped.look(r_.plan.time, hit);
}

// A blocked request does not stop the scan.
bool StepBuilder::set_aside_blocked(WaitingQueue& queue, Slot slot) {
  if (!table_[slot].blocked_as.has_value()) return false;
  queue.pop();
  set_aside_.push_back(slot);
  return true;
}

// Whether those behind a head that was refused for KV are looked at; each time one of them enters is counted.
bool StepBuilder::may_skip(Slot slot, HeldReason reason) const {
  const std::int64_t most = r_.rules.admission->most_skips();
  if (most == 0 || reason == HeldReason::kTokenBudget) return false;
  const auto skipped = r_.skips.find(table_[slot].spec.id);
  return skipped == r_.skips.end() || skipped->second < most;
}

// With places, those set aside earlier are looked at before the waiting; otherwise the smaller head of the
// two.
WaitingQueue* StepBuilder::next_queue() {
  const Slot aside = r_.skipped.head();
  const Slot fresh = r_.waiting.head();
  if (aside == kNoSlot && fresh == kNoSlot) return nullptr;
  if (aside == kNoSlot) return &r_.waiting;
  if (fresh == kNoSlot || r_.rules.waiting_order->by_place()) return &r_.skipped;
  const bool is_before = r_.rules.waiting_order->before(r_.waiting.head_view(), r_.skipped.head_view());
  return is_before ? &r_.waiting : &r_.skipped;
}

// The reason of a refusal, or nothing when it was admitted.
std::optional<HeldReason> StepBuilder::try_admit(WaitingQueue& queue, Slot slot) {
  RequestState& state = table_[slot];
  note_head(slot);
  const std::int64_t hit = look_up(state);
  const std::int64_t context = entry_context(state, hit);
  ChunkView view{&state.spec, Tokens{state.known() - context}, Tokens{budget_}, false};
  view.rows = r_.plan.shape.sequences;
  view.longest = longest_;
  const std::optional<Tokens> chunk = r_.rules.batch->chunk(view, r_.config);
  if (!chunk.has_value()) return HeldReason::kTokenBudget;
  CHECK_INVARIANT(chunk->value >= 1 && chunk->value <= budget_, *chunk, budget_);
  const std::int64_t end = whole_blocks_ ? state.known() : context + chunk->value;
  const std::optional<HeldReason> refusal = refuse(state, hit, end);
  if (refusal.has_value()) {
    r_.kv_refused = true;
    return refusal;
  }
  queue.pop();
  admit(slot, hit, chunk->value);
  return std::nullopt;
}

// Fills hits_ with the cached prefix, whole blocks within the first n - 1 tokens; returns its tokens.
std::int64_t StepBuilder::look_up(RequestState& state) {
  hits_.clear();
  if (!r_.config.prefix_caching) return 0;
  if (state.runs.empty()) content_runs(state.spec, r_.config.block_size, r_.config.hash_seed, state.runs);
  const std::int64_t size = r_.config.block_size.value;
  const auto most = static_cast<std::int32_t>((state.known() - 1) / size);
  if (r_.windows.any()) return r_.windows.look_up(r_.kv(), state.runs, most) * size;
  r_.kv().lookup(state.runs, most, hits_);
  return hits_.empty() ? 0 : hits_.back().end * size;
}

// Tokens that it need not compute when it enters: a prefix hit, or what was swapped out, if that is more.
std::int64_t StepBuilder::entry_context(const RequestState& state, std::int64_t hit) {
  return state.swapped ? std::max<std::int64_t>(hit, state.lost) : hit;
}

// `end` is up to where it needs blocks in this step.
std::optional<HeldReason> StepBuilder::refuse(const RequestState& state,
                                              std::int64_t hit,
                                              std::int64_t end) const {
  const Tokens size = r_.config.block_size;
  const bool windowed = r_.windows.any();
  const Blocks known_hits = windowed ? Blocks{0} : Blocks{hit / size.value - r_.kv().free_blocks_in(hits_)};
  const auto need = [&](std::int64_t tokens, bool at_once) {
    const Blocks entries = blocks_for(Tokens{tokens}, size);
    if (!windowed) return entries - known_hits;
    return Blocks{r_.windows.need(r_.kv(), hit / size.value, entries.value, at_once)};
  };
  AdmissionView view;
  view.free = r_.kv().free();
  view.usable = r_.kv().usable();
  view.running = r_.num_running();
  view.need_chunk = need(end, false);
  view.need_sequence = need(state.known(), true);
  view.need_completion = need(state.spec.prompt.value + state.limit - 1, true);
  view.promised = Blocks{r_.completion_sum - r_.held_sum};
  view.request = &state.spec;
  view.now = r_.plan.time;
  view.promised_now = Blocks{promised_now_};
  view.pressure = pressure_;
  view.pressure.decodes = decode_steps() - pressure_at_;
  if (r_.most_blocks(Tokens{state.known()}) > view.usable)
    return HeldReason::kKvGate;  // it grew past the pool
  const std::optional<HeldReason> refusal = r_.rules.admission->refuse(view, r_.config);
  if (refusal.has_value()) return refusal;
  if (view.need_chunk > view.free) return HeldReason::kKvAllocation;
  return std::nullopt;
}

// It has left its queue.
void StepBuilder::admit(Slot slot, std::int64_t hit, std::int64_t chunk) {
  RequestState& state = table_[slot];
  record_growth(r_.words, r_.kv());
  const std::int64_t size = r_.config.block_size.value;
  state.own_first = state.held = state.published = hit / size;
  state.owner = r_.windows.any() ? r_.windows.open(r_.kv(), state.spec.id, state.lives, state.held)
                                 : r_.kv().open_owner(state.spec.id, state.lives, hits_);
  r_.held_sum += r_.held(state);
  const Blocks completion = r_.completion(state);
  r_.completion_sum += completion.value;
  note_admission(state, hit);
  const std::int64_t context = entry_context(state, hit);
  if (state.swapped) swap_in(state, hit);
  state.phase = Phase::kRunning;
  state.set_aside = false;
  CHECK_INVARIANT(r_.admissions < std::numeric_limits<std::uint32_t>::max(), r_.admissions);
  state.admission = ++r_.admissions;
  state.computed = context;
  if (whole_blocks_) take_blocks(state, state.known() - context);
  grow(state, chunk);
  add_row(slot, state, chunk, false);
  longest_ = std::max(longest_, Tokens{chunk});
  ++r_.plan.shape.new_sequences;
  promised_now_ += completion.value - r_.held(state);
  r_.running.push_back(slot);
  for (RuleListener* listener : r_.listeners)
    listener->on_admitted(state.spec, Tokens{hit}, state.lives > 1, r_.plan.time);
  for (const Slot other : passed_) ++r_.skips[table_[other].spec.id];
  if (!r_.skips.empty()) r_.skips.erase(state.spec.id);
  const PlanEntry entry{PlanAction::kAdmit, state.spec.id,  Tokens{chunk},  Tokens{context},
                        Tokens{hit},        state.decoding, state.lives > 1};
  r_.plan.entries.push_back(entry);
  record_entry(r_.words, RecordTag::kAdmit, entry);
  record_taken(r_.words, r_.kv());
}

// Nothing is copied where the cache has it all again.
void StepBuilder::swap_in(RequestState& state, std::int64_t hit) {
  const std::int64_t lost = state.lost;
  r_.leave_host(state);
  if (hit >= lost) return;
  const std::int64_t size = r_.config.block_size.value;
  r_.plan.shape.swap_in_blocks += ceil_div(lost, size) - hit / size;
  const PlanEntry entry{
      PlanAction::kSwapIn, state.spec.id, Tokens{lost - hit}, Tokens{hit}, Tokens{0}, false, false};
  r_.plan.entries.push_back(entry);
  record_entry(r_.words, RecordTag::kSwapIn, entry);
}

// What the request's record keeps of an admission.
void StepBuilder::note_admission(RequestState& state, std::int64_t hit) {
  if (state.lives == 0) {
    state.first_scheduled = r_.plan.time;
    state.cached = hit;
  } else {
    state.preempted += r_.plan.time - state.queued.preempted_at;
    if (!state.swapped) state.recomputed += std::max<std::int64_t>(state.lost - hit, 0);
  }
  ++state.lives;
  if (!state.heads_queue) state.head_of_line += r_.head_of_line - state.queued.head_of_line_mark;
  state.heads_queue = false;
}

// Full blocks whose content is known become findable at allocation, before the step runs. Draft and unknown
// tokens never do.
void StepBuilder::publish(RequestState& state) {
  if (!r_.config.prefix_caching) return;
  const std::int64_t tokens = std::min(state.computed - state.placeholders, state.known());
  const auto full = static_cast<std::int32_t>(tokens / r_.config.block_size.value);
  const auto published = static_cast<std::int32_t>(state.published);
  if (full <= published) return;
  for (const ContentRun& run : state.runs) {
    if (run.first >= full) break;
    const std::int32_t first = std::max(run.first, published);
    const std::int32_t end = std::min(run.end, full);
    if (r_.windows.any()) {
      r_.windows.publish(r_.kv(), state.owner, run, first, end);
    } else {
      r_.kv().publish(state.owner, run, first, end);
    }
  }
  state.published = full;
}

// Attribution in constant time: the blocked by class; the head's own reason, and what that means for those
// behind it.
void StepBuilder::count_waiting(std::optional<HeldReason> refusal) {
  auto& held = r_.plan.held;
  std::int64_t others = r_.num_waiting() + static_cast<std::int64_t>(set_aside_.size());
  for (std::size_t reason = 0; others > 0 && reason < held.size(); ++reason) {
    held[reason] += r_.blocked[reason];
    others -= r_.blocked[reason];
  }
  if (others > 0) {
    CHECK_INVARIANT(refusal.has_value(), others);
    const std::int64_t heads = r_.kv_refused ? 1 : others;
    held[static_cast<std::size_t>(*refusal)] += heads;
    held[static_cast<std::size_t>(HeldReason::kHeadOfLine)] += others - heads;
  }
  put_back_set_aside();
  for (const Slot victim : victims_) r_.classify(victim);
  // Decoding alone only lowers what is free, so these refusals last; unless text that decoders publish is
  // what the refused head would find.
  const bool lasting = refusal == HeldReason::kSeqsCap ||
                       (refusal == HeldReason::kKvGate && r_.shared_growers == 0 && !r_.changing_order);
  r_.steady = others == 0 || (lasting && passed_.empty());
}

void StepBuilder::put_back_set_aside() {
  for (std::size_t i = set_aside_.size(); i-- > 0;) {
    RequestState& state = table_[set_aside_[i]];
    state.set_aside = true;
    r_.skipped.push_front(set_aside_[i], state);
  }
  set_aside_.clear();  // a plan may put back twice: after yielding, and at its end
}

// Time behind a refused head is charged until one becomes the head oneself.
void StepBuilder::note_head(Slot slot) {
  RequestState& state = table_[slot];
  if (r_.queue_head == slot && r_.queue_head_id == state.spec.id && state.heads_queue) return;
  if (r_.queue_head != kNoSlot && table_[r_.queue_head].spec.id == r_.queue_head_id) {
    RequestState& former = table_[r_.queue_head];
    if (former.phase == Phase::kWaiting && former.heads_queue) {
      former.heads_queue = false;
      former.queued.head_of_line_mark = r_.head_of_line;
    }
  }
  state.head_of_line += r_.head_of_line - state.queued.head_of_line_mark;
  state.heads_queue = true;
  r_.queue_head = slot;
  r_.queue_head_id = state.spec.id;
}

}  // namespace servetwin
