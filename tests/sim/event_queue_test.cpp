// If this fails, events happen in another order than their keys say, and results depend on how they were
// queued.
#include "sim/core/event_queue.h"

#include <algorithm>
#include <rapidcheck.h>

#include "tests/support/catch.h"

namespace servetwin::event_queue_test {
namespace {

Event any_event() {
  const RequestId request{*rc::gen::inRange<std::uint32_t>(0, 4)};
  const ReplicaId replica{*rc::gen::inRange<std::uint16_t>(0, 4)};
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return Cancelled{request, EndReason::kClient};
    case 1:
      return SequenceOut{request, StepId{1}, EndState::kStop};
    case 2:
      return StepDone{replica, StepId{1}, 1};
    case 3:
      return Arrived{request};
    default:
      return PlanDue{replica};
  }
}

TEST_CASE("events come out as a sorted vector gives them, whatever the order they went in") {
  const bool held = rc::check([] {
    EventQueue queue;
    std::vector<StampedEvent> sorted;
    const int operations = *rc::gen::inRange(1, 300);
    for (int i = 0; i < operations; ++i) {
      if (*rc::gen::inRange(0, 3) > 0 || sorted.empty()) {
        // Few stamps, so that most comparisons go to kind, subject and number.
        const StampedEvent event{time_at_ns(*rc::gen::inRange(0, 6)), any_event(),
                                 static_cast<std::uint32_t>(i)};
        queue.push(event);
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), event), event);
      } else {
        RC_ASSERT(order_key(queue.top()) == order_key(sorted.front()));
        RC_ASSERT(order_key(queue.pop()) == order_key(sorted.front()));
        sorted.erase(sorted.begin());
      }
      RC_ASSERT(queue.size() == sorted.size());
      RC_ASSERT(queue.empty() == sorted.empty());
    }
  });
  CHECK(held);
}

TEST_CASE("at one stamp: cancels, stops, steps, readiness, arrivals, plans; then by id") {
  EventQueue queue;
  const Time now = time_at_ns(5);
  queue.push({now, PlanDue{ReplicaId{0}}, 0});
  queue.push({now, Arrived{RequestId{2}}, 0});
  queue.push({now, Arrived{RequestId{1}}, 0});
  queue.push({now, Ready{RequestId{9}, WaitsFor::kTokenised, true}, 0});
  queue.push({now, StepDone{ReplicaId{1}, StepId{1}, 1}, 0});
  queue.push({now, SequenceOut{RequestId{3}, StepId{1}, EndState::kStop}, 0});
  queue.push({now, Cancelled{RequestId{8}, EndReason::kClient}, 0});
  queue.push({time_at_ns(4), PlanDue{ReplicaId{7}}, 0});
  const EventKind expected[] = {EventKind::kPlanDue,  EventKind::kCancelled, EventKind::kSequenceOut,
                                EventKind::kStepDone, EventKind::kReady,     EventKind::kArrived,
                                EventKind::kArrived,  EventKind::kPlanDue};
  std::vector<std::uint32_t> arrived;
  for (const EventKind kind : expected) {
    const StampedEvent event = queue.pop();
    CHECK(kind_of(event.event) == kind);
    if (kind == EventKind::kArrived) arrived.push_back(subject_of(event.event));
  }
  CHECK(arrived == std::vector<std::uint32_t>{1, 2});
}

}  // namespace
}  // namespace servetwin::event_queue_test
