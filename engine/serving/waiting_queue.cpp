// A double-ended queue for orders by place, a sorted set for all others.
#include "engine/serving/waiting_queue.h"

#include "engine/base/check.h"

namespace servetwin {

bool WaitingQueue::Before::operator()(const Entry& a, const Entry& b) const {
  return queue->order_.before({&queue->table_[a.slot].spec, a.place}, {&queue->table_[b.slot].spec, b.place});
}

bool WaitingQueue::alive(const Entry& entry) const {
  const RequestState& state = table_[entry.slot];
  return state.spec.id == entry.id && state.phase == Phase::kWaiting && state.queued.place == entry.place;
}

void WaitingQueue::push_back(Slot slot, RequestState& state) {
  state.queued.place = ++back_place_;
  insert({slot, state.spec.id, state.queued.place});
}

void WaitingQueue::push_front(Slot slot, RequestState& state) {
  state.queued.place = --front_place_;
  insert({slot, state.spec.id, state.queued.place});
}

void WaitingQueue::insert(const Entry& entry) {
  ++size_;
  if (!order_.by_place()) {
    const bool is_new = sorted_.insert(entry).second;
    CHECK_INVARIANT(is_new, raw(entry.id));
  } else if (entry.place < 0) {
    by_place_.push_front(entry);
  } else {
    by_place_.push_back(entry);
  }
}

Slot WaitingQueue::head() {
  if (!order_.by_place()) return sorted_.empty() ? kNoSlot : sorted_.begin()->slot;
  while (!by_place_.empty() && !alive(by_place_.front())) by_place_.pop_front();
  return by_place_.empty() ? kNoSlot : by_place_.front().slot;
}

void WaitingQueue::pop() {
  CHECK_INVARIANT(size_ > 0, size_);
  --size_;
  if (order_.by_place()) {
    by_place_.pop_front();
  } else {
    sorted_.erase(sorted_.begin());
  }
}

void WaitingQueue::remove(Slot slot, const RequestState& state) {
  CHECK_INVARIANT(size_ > 0, size_);
  --size_;
  if (!order_.by_place()) {
    const auto erased = sorted_.erase({slot, state.spec.id, state.queued.place});
    CHECK_INVARIANT(erased == 1, raw(state.spec.id));
  }
}

}  // namespace servetwin
