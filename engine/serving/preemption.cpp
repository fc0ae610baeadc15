// Taking KV back within a step: victims until there is room, refunds, and the way back to the queue.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/serving/step_builder.h"
#include "engine/serving/step_record.h"

namespace servetwin {
namespace {

// Those who run come before all who wait, for orders by place.
constexpr std::int64_t kRunningPlaces = std::numeric_limits<std::int64_t>::min();

}  // namespace

// Preempts until `need` blocks are free. False when the request at `index` was the victim. The cursor stays
// with its request, whoever leaves before it.
bool StepBuilder::make_room(std::size_t& index, std::int64_t need) {
  const Slot slot = r_.running[index];
  while (need > r_.kv().free().value) {
    const std::size_t victim = pick_victim();
    const bool itself = r_.running[victim] == slot;
    refund(r_.running[victim]);
    swap_out(table_[r_.running[victim]]);
    preempt(victim, table_[slot].spec.id);
    if (itself) return false;
    if (victim < index) --index;
  }
  return true;
}

std::size_t StepBuilder::pick_victim() {
  views_.clear();
  const bool sees_blocks = r_.rules.victim->sees_blocks();
  for (const Slot other : r_.running) {
    const RequestState& state = table_[other];
    views_.push_back({&state.spec, Tokens{state.computed}, Tokens{state.outputs},
                      static_cast<std::int64_t>(state.lives) - 1,
                      sees_blocks ? r_.held_alone(state) : Blocks{0}});
  }
  const std::size_t victim = r_.rules.victim->pick(views_);
  CHECK_INVARIANT(victim < r_.running.size(), victim);
  return victim;
}

// Takes KV back before decoders are scheduled, for rules that look some steps ahead.
void StepBuilder::retract() {
  const Tokens each = r_.rules.victim->room_each();
  if (each.value == 0) return;
  std::int64_t ahead = 0;
  while (r_.running.size() > 1) {
    std::int64_t need = 0;
    for (const Slot slot : r_.running) need += blocks_needed(table_[slot], 1);
    if (std::max(need, ahead) <= r_.kv().free().value) return;
    const std::size_t victim = pick_victim();
    swap_out(table_[r_.running[victim]]);
    preempt(victim, kNoRequest);
    ahead = blocks_for(each * r_.num_running(), r_.config.block_size).value;
  }
}

// The first of the waiting that nothing blocks may take the place or the KV of running ones, as the rule
// says. They lose it before anything is scheduled, and like after every preemption nobody enters in this
// plan.
void StepBuilder::yield_to_waiting() {
  set_aside_.clear();
  WaitingQueue* queue = next_queue();
  while (queue != nullptr && set_aside_blocked(*queue, queue->head())) queue = next_queue();
  if (queue != nullptr) {
    const Slot head = queue->head();
    const WaitingView view = queue->head_view();
    while (lacks_room(head)) {
      const std::size_t victim = pick_yielding(head, view);
      if (victim == r_.running.size()) break;
      swap_out(table_[r_.running[victim]]);
      preempt(victim, table_[head].spec.id);
    }
  }
  put_back_set_aside();
}

// Whose turn it is to give way, or the size of the running list. Never the same request again before it has
// computed more than it had lost.
std::size_t StepBuilder::pick_yielding(Slot head, const WaitingView& view) {
  yielding_.clear();
  yielding_index_.clear();
  std::int64_t blocks = r_.kv().free().value;
  for (std::size_t i = 0; i < r_.running.size(); ++i) {
    const RequestState& state = table_[r_.running[i]];
    const bool progressed = state.lives == 1 ? state.computed > 0 : state.computed > state.lost;
    if (!progressed || static_cast<std::int64_t>(state.lives) > r_.rules.yield->most()) continue;
    yielding_.push_back(view_of(state, kRunningPlaces + static_cast<std::int64_t>(i), r_.plan.time));
    yielding_index_.push_back(i);
    blocks += r_.held(state);
  }
  const RequestState& waiting = table_[head];
  if (yielding_.empty() || r_.most_blocks(Tokens{waiting.known()}).value > blocks) return r_.running.size();
  const std::optional<std::size_t> picked = r_.rules.yield->pick(view, yielding_, *r_.rules.waiting_order);
  if (!picked.has_value()) return r_.running.size();
  CHECK_INVARIANT(*picked < yielding_.size(), *picked);
  return yielding_index_[*picked];
}

// Whether it would be refused for a place or for KV, had it the whole token budget.
bool StepBuilder::lacks_room(Slot slot) {
  if (r_.num_running() == r_.config.max_num_seqs) return true;
  RequestState& state = table_[slot];
  const std::int64_t hit = look_up(state);
  const std::int64_t end = std::min(state.known(), entry_context(state, hit) + budget_);
  return refuse(state, hit, end).has_value();
}

// A victim that this step had already scheduled gives its tokens back.
void StepBuilder::refund(Slot slot) {
  RequestState& state = table_[slot];
  auto& rows = r_.plan.rows;
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const StepRow& x) { return x.request == state.spec.id; });
  if (row == rows.end()) return;
  auto& entries = r_.plan.entries;
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const PlanEntry& x) {
    return x.request == state.spec.id && x.action == PlanAction::kChunk;
  });
  const bool decode = entry == entries.end();
  if (!decode) entries.erase(entry);
  add_shape(state, row->tokens.value, row->context.value, decode, -1);
  if (row->sampled) {
    --r_.plan.shape.sampled_rows;
    if (r_.config.in_flight.speculate_outputs) --state.placeholders;
  }
  --state.in_flight;
  state.computed -= row->tokens.value;
  budget_ += row->tokens.value;
  rows.erase(row);
  // The longest context may have been the victim's.
  r_.plan.shape.max_context = 0;
  for (const StepRow& other : rows) {
    const std::int64_t after = other.context.value + other.tokens.value;
    r_.plan.shape.max_context = std::max(r_.plan.shape.max_context, after);
  }
}

// Copies a victim's KV to the host before it is taken back, if the rule says so.
void StepBuilder::swap_out(RequestState& state) {
  const Blocks blocks = blocks_for(Tokens{state.computed}, r_.config.block_size);
  const PressureView view{&state.spec, Tokens{state.computed}, blocks, r_.config.host_blocks - r_.host_used};
  if (blocks.value == 0 || r_.rules.pressure->decide(view, r_.config) == Pressure::kRecompute) return;
  CHECK_INVARIANT(blocks <= view.host_free, blocks, view.host_free);
  state.swapped = true;
  r_.host_used += blocks;
  r_.plan.shape.swap_out_blocks += blocks.value;
  const PlanEntry entry{
      PlanAction::kSwapOut, state.spec.id, Tokens{state.computed}, Tokens{0}, Tokens{0}, false, false};
  record_growth(r_.words, r_.kv());
  r_.plan.entries.push_back(entry);
  record_entry(r_.words, RecordTag::kSwapOut, entry);
  SwapOut copy{state.spec.id, r_.kv().hits(state.owner)};
  copy.blocks.push_back(
      {state.owner, static_cast<std::int32_t>(state.own_first), static_cast<std::int32_t>(state.held)});
  std::int64_t left = blocks.value;
  for (KvExtent& extent : copy.blocks) {
    extent.end = static_cast<std::int32_t>(std::min<std::int64_t>(extent.end, extent.first + left));
    left -= extent.size();
  }
  r_.plan.swap_outs.push_back(std::move(copy));
}

void StepBuilder::preempt(std::size_t index, RequestId cause) {
  const Slot slot = r_.running[index];
  RequestState& state = table_[slot];
  record_growth(r_.words, r_.kv());
  const Tokens lost{state.swapped ? 0 : static_cast<std::int64_t>(state.computed)};
  const PlanEntry entry{PlanAction::kPreempt, state.spec.id, lost, Tokens{0}, Tokens{0}, false, false, cause};
  r_.plan.entries.push_back(entry);
  record_entry(r_.words, RecordTag::kPreempt, entry);
  r_.release_blocks(state);
  if (state.window_closed) --r_.closed_windows;
  state.owner = kNoOwner;
  state.held = state.published = state.own_first = 0;
  state.lost = state.computed;
  state.computed = 0;
  state.decoding = false;
  state.phase = Phase::kWaiting;
  state.queued = {0, r_.plan.time, r_.head_of_line};
  r_.running.erase(r_.running.begin() + static_cast<std::ptrdiff_t>(index));
  r_.waiting.push_front(slot, state);
  victims_.push_back(slot);
  preempted_ = true;
  for (RuleListener* listener : r_.listeners) listener->on_preempted(state.spec, r_.plan.time);
  note_pressure();
  // A request counts under one reason: being preempted, or why it may not come back yet.
  for (const auto& [held, reason] : holds_) {
    if (held == slot) --r_.plan.held[static_cast<std::size_t>(reason)];
  }
}

// How far those are that go on running, the steps until then left behind.
void StepBuilder::note_pressure() {
  pressure_ = {};
  pressure_at_ = decode_steps();
  pressure_.remaining = r_.num_running();
  for (const Slot slot : r_.running) {
    pressure_.outputs += table_[slot].outputs;
    pressure_.asked += table_[slot].limit;
  }
}

}  // namespace servetwin
