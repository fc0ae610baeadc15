// Nothing is decided here: rows go to the sink, events to the core, and its commands are compared.
#include "engine/journal/replay_backend.h"

#include <fmt/format.h>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {

ReplayBackend::ReplayBackend(JournalReader& reader, std::function<void(const RequestSpec&)> add_request)
    : reader_(reader), add_request_(std::move(add_request)), replicas_(reader.header().replicas) {}

ReplayBackend::Lane& ReplayBackend::lane(ReplicaId replica) {
  CHECK_INVARIANT(raw(replica) < replicas_.size(), raw(replica), replicas_.size());
  return replicas_[raw(replica)];
}

bool ReplayBackend::next(StampedEvent& out) {
  if (!confirms_last_plan()) return false;
  JournalEntry entry;
  while (reader_.next(entry)) {
    if (const auto* request = std::get_if<RequestSpec>(&entry)) {
      add_request_(*request);
      continue;
    }
    const auto& event = std::get<JournalEvent>(entry);
    if (!accepts(event)) return false;
    now_ = event.stamped.time;
    out = event.stamped;
    return true;
  }
  return false;
}

void ReplayBackend::start_step(const StepPlan& plan) {
  lane(plan.replica).in_flight.push_back(plan.step);
  if (mismatch_.has_value()) return;
  const std::optional<Expected> expected = std::exchange(expected_, std::nullopt);
  if (!expected.has_value() || expected->replica != plan.replica) {
    part(now_, plan.replica,
         fmt::format("the replay starts step {}, the journal starts none", raw(plan.step)));
  } else if (expected->step != plan.step) {
    part(now_, plan.replica,
         fmt::format("the replay starts step {}, the journal step {}", raw(plan.step), raw(expected->step)));
  }
}

void ReplayBackend::plan_at(ReplicaId replica, Time when) {
  std::optional<Time>& asked = lane(replica).asked;
  CHECK_INVARIANT(!asked.has_value(), raw(replica), when);
  asked = when;
}

void ReplayBackend::end_request(const RequestRecord& /*record*/) {}

bool ReplayBackend::confirms_last_plan() {
  if (mismatch_.has_value()) return false;
  if (!expected_.has_value()) return true;
  return part(now_, expected_->replica,
              fmt::format("the journal starts step {}, the replay starts none", raw(expected_->step)));
}

bool ReplayBackend::accepts(const JournalEvent& event) {
  const Time time = event.stamped.time;
  if (const auto* due = std::get_if<PlanDue>(&event.stamped.event)) {
    std::optional<Time>& asked = lane(due->replica).asked;
    if (!asked.has_value())
      return part(time, due->replica, "the journal plans, the replay asked for no plan");
    if (time < *asked) {
      return part(time, due->replica,
                  fmt::format("the journal plans before {} ns, when the replay asked for it", to_ns(*asked)));
    }
    asked.reset();
    if (event.started != StepId{0}) expected_ = {due->replica, event.started};
    return true;
  }
  const auto* done = std::get_if<StepDone>(&event.stamped.event);
  if (done == nullptr) return true;
  std::deque<StepId>& in_flight = lane(done->replica).in_flight;
  if (done->ran != 1) return part(time, done->replica, "the journal ends several steps at once");
  if (in_flight.empty() || in_flight.front() != done->step) {
    return part(time, done->replica,
                fmt::format("the journal ends step {}, the replay waits for {}", raw(done->step),
                            in_flight.empty() ? "none" : fmt::format("step {}", raw(in_flight.front()))));
  }
  in_flight.pop_front();
  return true;
}

bool ReplayBackend::part(Time time, ReplicaId replica, const std::string& what) {
  mismatch_ = fmt::format("{}, line {}: at {} ns, replica {}: {}", reader_.name(), reader_.line(),
                          to_ns(time), raw(replica), what);
  return false;
}

}  // namespace servetwin
