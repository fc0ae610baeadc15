// Taking KV back within a step: victims until there is room, refunds, and the way back to the queue.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/serving/step_builder.h"
#include "engine/serving/step_record.h"

namespace servetwin {

// Preempts until `need` blocks are free. False when the request at `index` was the victim. The cursor stays
// with its request, whoever leaves before it.
bool StepBuilder::make_room(std::size_t& index, std::int64_t need) {
  const Slot slot = r_.running[index];
  while (need > r_.kv().free().value) {
    const std::size_t victim = pick_victim();
    const bool itself = r_.running[victim] == slot;
    refund(r_.running[victim]);
    swap_out(table_[r_.running[victim]]);
    preempt(victim);
    if (itself) return false;
    if (victim < index) --index;
  }
  return true;
}

std::size_t StepBuilder::pick_victim() {
  views_.clear();
  for (const Slot other : r_.running) views_.push_back({&table_[other].spec, Tokens{table_[other].computed}});
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
    preempt(victim);
    ahead = blocks_for(each * r_.num_running(), r_.config.block_size).value;
  }
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

void StepBuilder::preempt(std::size_t index) {
  const Slot slot = r_.running[index];
  RequestState& state = table_[slot];
  record_growth(r_.words, r_.kv());
  const Tokens lost{state.swapped ? 0 : static_cast<std::int64_t>(state.computed)};
  const PlanEntry entry{PlanAction::kPreempt, state.spec.id, lost, Tokens{0}, Tokens{0}, false, false};
  r_.plan.entries.push_back(entry);
  record_entry(r_.words, RecordTag::kPreempt, entry);
  r_.kv().release(state.owner);
  r_.held_sum -= state.held;
  r_.completion_sum -=
      blocks_for(Tokens{state.spec.prompt.value + state.limit - 1}, r_.config.block_size).value;
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
