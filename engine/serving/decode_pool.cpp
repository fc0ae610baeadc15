// Derivation of each decoder's progress from the step clock.
#include "engine/serving/decode_pool.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {

// The clock starts at one: clock - 1 names the step planned last.
DecodePool::DecodePool(RequestTable& table, Tokens block_size)
    : table_(table),
      block_size_(block_size.value),
      clock_(1),
      phase_(static_cast<std::size_t>(block_size.value), 0),
      ring_(kRing, kNoSlot) {}

std::uint64_t DecodePool::last_step(const RequestState& state) const {
  const std::int64_t more = state.limit - state.outputs;  // as of the clock
  return state.pooled.clock + static_cast<std::uint64_t>(more) - 1;
}

// A member with c tokens computed takes a new block in the step where c is a multiple of the block size.
std::int64_t& DecodePool::phase_of(const RequestState& state) {
  const std::int64_t into_block = state.computed % block_size_;
  const auto until_next = static_cast<std::uint64_t>((block_size_ - into_block) % block_size_);
  return phase_[(state.pooled.clock + until_next) % phase_.size()];
}

void DecodePool::ring_insert(Slot slot, RequestState& state) {
  Slot& head = ring_[last_step(state) % kRing];
  state.pooled.ring_prev = kNoSlot;
  state.pooled.ring_next = head;
  if (head != kNoSlot) table_[head].pooled.ring_prev = slot;
  head = slot;
}

void DecodePool::ring_remove(const RequestState& state, Slot slot) {
  Slot& head = ring_[last_step(state) % kRing];
  if (state.pooled.ring_prev == kNoSlot) {
    CHECK_INVARIANT(head == slot, head, slot);
    head = state.pooled.ring_next;
  } else {
    table_[state.pooled.ring_prev].pooled.ring_next = state.pooled.ring_next;
  }
  if (state.pooled.ring_next != kNoSlot)
    table_[state.pooled.ring_next].pooled.ring_prev = state.pooled.ring_prev;
}

void DecodePool::park(Slot slot) {
  RequestState& state = table_[slot];
  CHECK_INVARIANT(!state.parked && state.computed + 1 == state.known(), state.computed, state.known());
  state.parked = true;
  state.pooled.clock = clock_;
  state.pooled.index = static_cast<std::uint32_t>(members_.size());
  members_.push_back(slot);
  context_sum_ += state.computed;
  if (max_context_ > 0 || members_.size() == 1)
    max_context_ = std::max<std::int64_t>(max_context_, state.computed);
  ++phase_of(state);
  ++groups_[state.spec.stat_group];
  ring_insert(slot, state);
}

void DecodePool::unpark(Slot slot, bool in_flight, KvGroup& kv) {
  RequestState& state = table_[slot];
  CHECK_INVARIANT(state.parked, slot);
  --phase_of(state);
  --groups_[state.spec.stat_group];
  ring_remove(state, slot);
  refresh(slot, kv);
  context_sum_ -= state.computed;
  if (state.computed == max_context_) max_context_ = 0;
  members_[state.pooled.index] = members_.back();
  table_[members_.back()].pooled.index = state.pooled.index;
  members_.pop_back();
  state.parked = false;
  // The token of a step that has not come back is computed but not yet an output.
  if (in_flight) state.outputs -= 1;
}

// Moves the base of the derivation to now: phase and last step stay what they were.
void DecodePool::refresh(Slot slot, KvGroup& kv) {
  RequestState& state = table_[slot];
  const auto advanced = static_cast<std::int64_t>(clock_ - state.pooled.clock);
  state.computed += advanced;
  state.outputs += advanced;
  state.pooled.clock = clock_;
  const std::int64_t held = ceil_div(state.computed, block_size_);
  state.held = held;
  kv.extend(state.owner, static_cast<std::int32_t>(held));
}

std::int64_t DecodePool::max_context() {
  if (max_context_ == 0) {
    for (const Slot slot : members_) {
      const RequestState& state = table_[slot];
      max_context_ =
          std::max(max_context_, state.computed + static_cast<std::int64_t>(clock_ - state.pooled.clock));
    }
  }
  return max_context_;
}

void DecodePool::ending(std::vector<Slot>& out) const {
  for (Slot slot = ring_[(clock_ - 1) % kRing]; slot != kNoSlot; slot = table_[slot].pooled.ring_next) {
    if (last_step(table_[slot]) == clock_ - 1) out.push_back(slot);
  }
}

}  // namespace servetwin
