// If this fails, the waiting requests are looked at in another order than the rule's.
#include "engine/serving/waiting_queue.h"

#include <algorithm>
#include <rapidcheck.h>

#include "engine/base/registry.h"
#include "tests/support/catch.h"

namespace servetwin::waiting_queue_test {
namespace {

// The queue, and a vector that is sorted by the rule whenever it is looked at.
class QueueAndVector {
 public:
  explicit QueueAndVector(const char* rule)
      : order_(Registry<WaitingOrder>::instance().make(rule, ConfigNode{})), queue_(table_, *order_) {}

  void join(bool in_front) {
    RequestSpec spec;
    spec.id = RequestId{next_id_++};
    spec.priority = *rc::gen::inRange(0, 3);
    spec.arrival = time_at_ns(*rc::gen::inRange(0, 4));
    const Slot slot = table_.add(spec);
    enter(slot, in_front);
  }

  // The head is admitted, and now and then preempted at once: it comes back in front.
  void admit(bool comes_back) {
    const Slot slot = queue_.head();
    if (slot == kNoSlot) return;
    queue_.pop();
    forget(slot);
    table_[slot].phase = Phase::kRunning;
    if (comes_back) {
      enter(slot, true);
    } else {
      table_.remove(slot);
    }
  }

  // Its slot is free for another at once.
  void leave() {
    if (waiting_.empty()) return;
    const Slot slot = waiting_[*rc::gen::inRange<std::size_t>(0, waiting_.size())];
    queue_.remove(slot, table_[slot]);
    forget(slot);
    table_.remove(slot);
  }

  void check() {
    const auto seen = [this](Slot slot) {
      return view_of(table_[slot], table_[slot].queued.place, kTimeZero);
    };
    std::sort(waiting_.begin(), waiting_.end(),
              [&](Slot a, Slot b) { return order_->before(seen(a), seen(b)); });
    queue_.look(kTimeZero, {});
    RC_ASSERT(queue_.size() == static_cast<std::int64_t>(waiting_.size()));
    RC_ASSERT(queue_.empty() == waiting_.empty());
    RC_ASSERT(queue_.head() == (waiting_.empty() ? kNoSlot : waiting_.front()));
  }

 private:
  void enter(Slot slot, bool in_front) {
    RequestState& state = table_[slot];
    state.phase = Phase::kWaiting;
    const std::int64_t before = state.queued.place;
    in_front ? queue_.push_front(slot, state) : queue_.push_back(slot, state);
    RC_ASSERT((in_front ? state.queued.place < 0 : state.queued.place > 0));
    RC_ASSERT(state.queued.place != before);
    waiting_.push_back(slot);
  }
  void forget(Slot slot) { waiting_.erase(std::find(waiting_.begin(), waiting_.end(), slot)); }

  RequestTable table_;
  std::unique_ptr<WaitingOrder> order_;
  WaitingQueue queue_;
  std::vector<Slot> waiting_;
  std::uint32_t next_id_ = 0;
};

TEST_CASE("the head of the queue is the first of a sorted vector, after every operation") {
  const bool held = rc::check([] {
    QueueAndVector both(*rc::gen::element("fcfs", "priority", "lpm"));
    const int operations = *rc::gen::inRange(1, 120);
    for (int i = 0; i < operations; ++i) {
      const int action = *rc::gen::inRange(0, 8);
      if (action < 4) {
        both.join(action == 0);
      } else if (action < 6) {
        both.admit(action == 4);
      } else {
        both.leave();
      }
      both.check();
    }
  });
  CHECK(held);
}

}  // namespace
}  // namespace servetwin::waiting_queue_test
