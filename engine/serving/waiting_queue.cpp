// A double-ended queue for orders by place, a sorted set for those over immutable data, a list for the
// others.
#include "engine/serving/waiting_queue.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {

WaitingQueue::WaitingQueue(RequestTable& table, const WaitingOrder& order)
    : table_(table), order_(order), sorted_(Before{this}) {
  if (order.by_place()) {
    kind_ = Kind::kPlaces;
  } else if (order.changing()) {
    kind_ = Kind::kChanging;
  }
}

WaitingView view_of(const RequestState& state, std::int64_t place, Time now) {
  const bool waits = state.phase == Phase::kWaiting;
  const std::int64_t has = !waits ? state.computed : state.swapped ? state.lost : SmallCount{};
  const std::int64_t preemptions = static_cast<std::int64_t>(state.lives) - (waits ? 0 : 1);
  return {&state.spec, place, now, Tokens{state.outputs}, Tokens{state.known() - has}, preemptions};
}

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
  if (kind_ == Kind::kChanging) {
    seen_.push_back({entry, view_of(table_[entry.slot], entry.place, now_)});
  } else if (kind_ == Kind::kSorted) {
    const bool is_new = sorted_.insert(entry).second;
    CHECK_INVARIANT(is_new, raw(entry.id));
  } else if (entry.place < 0) {
    by_place_.push_front(entry);
  } else {
    by_place_.push_back(entry);
  }
}

void WaitingQueue::look(Time now, const std::function<std::int64_t(RequestState&)>& hit) {
  now_ = now;
  for (Seen& seen : seen_) {
    RequestState& state = table_[seen.entry.slot];
    seen.view = view_of(state, seen.entry.place, now);
    if (!hit) continue;
    const Tokens cold = Tokens{state.known() - hit(state)};
    seen.view.rest = std::min(seen.view.rest, cold);
  }
}

// Those who joined after the last look are seen as they were then.
std::size_t WaitingQueue::first_seen() {
  const auto first = std::min_element(seen_.begin(), seen_.end(), [this](const Seen& a, const Seen& b) {
    return order_.before(a.view, b.view);
  });
  return static_cast<std::size_t>(first - seen_.begin());
}

WaitingView WaitingQueue::head_view() {
  if (kind_ == Kind::kChanging) return seen_[first_seen()].view;
  const Slot slot = head();
  return view_of(table_[slot], table_[slot].queued.place, now_);
}

Slot WaitingQueue::head() {
  if (kind_ == Kind::kChanging) return seen_.empty() ? kNoSlot : seen_[first_seen()].entry.slot;
  if (kind_ == Kind::kSorted) return sorted_.empty() ? kNoSlot : sorted_.begin()->slot;
  while (!by_place_.empty() && !alive(by_place_.front())) by_place_.pop_front();
  return by_place_.empty() ? kNoSlot : by_place_.front().slot;
}

void WaitingQueue::pop() {
  CHECK_INVARIANT(size_ > 0, size_);
  --size_;
  if (kind_ == Kind::kChanging) {
    seen_.erase(seen_.begin() + static_cast<std::ptrdiff_t>(first_seen()));
  } else if (kind_ == Kind::kPlaces) {
    by_place_.pop_front();
  } else {
    sorted_.erase(sorted_.begin());
  }
}

void WaitingQueue::remove(Slot slot, const RequestState& state) {
  CHECK_INVARIANT(size_ > 0, size_);
  --size_;
  if (kind_ == Kind::kChanging) {
    const auto found = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& seen) {
      return seen.entry.slot == slot && seen.entry.id == state.spec.id;
    });
    CHECK_INVARIANT(found != seen_.end(), raw(state.spec.id));
    seen_.erase(found);
  } else if (kind_ == Kind::kSorted) {
    const auto erased = sorted_.erase({slot, state.spec.id, state.queued.place});
    CHECK_INVARIANT(erased == 1, raw(state.spec.id));
  }
}

}  // namespace servetwin
