// A PlanDue line names the step it started, so durations need no core.
#include "engine/journal/replayed_durations.h"

#include <deque>
#include <fmt/format.h>

namespace servetwin {
namespace {

struct PendingSteps {
  StepId last{0};           // the last step started
  std::deque<Time> starts;  // of the steps started and not ended, in order
};

[[noreturn]] void fail(const JournalReader& reader, StepId step, const char* what) {
  reader.fail("JRN006", fmt::format("step {} {}", raw(step), what), "record the run again");
}

}  // namespace

std::vector<ReplayedDurations> replayed_durations(JournalReader& reader) {
  std::vector<ReplayedDurations> durations(reader.header().replicas);
  std::vector<PendingSteps> in_flight(reader.header().replicas);
  JournalEntry entry;
  while (reader.next(entry)) {
    const auto* event = std::get_if<JournalEvent>(&entry);
    if (event == nullptr) continue;
    const Time time = event->stamped.time;
    if (const auto* due = std::get_if<PlanDue>(&event->stamped.event)) {
      PendingSteps& steps = in_flight[raw(due->replica)];
      durations[raw(due->replica)].plan_lags.push_back(event->late);
      if (event->started == StepId{0}) continue;
      if (event->started != next(steps.last)) fail(reader, event->started, "starts out of order");
      steps.last = event->started;
      durations[raw(due->replica)].step_lags.push_back(event->late);
      steps.starts.push_back(time);
    } else if (const auto* done = std::get_if<StepDone>(&event->stamped.event)) {
      PendingSteps& steps = in_flight[raw(done->replica)];
      std::vector<Duration>& ended = durations[raw(done->replica)].steps;
      if (steps.starts.empty() || raw(done->step) != ended.size() + 1)
        fail(reader, done->step, "ends out of order");
      ended.push_back(time - steps.starts.front());
      steps.starts.pop_front();
    }
  }
  return durations;
}

}  // namespace servetwin
