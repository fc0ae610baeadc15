// Shapes come from the core, times from the journal and the runners.
#include "cli/live_steps.h"

#include <map>
#include <utility>

#include "cli/rerun.h"
#include "engine/journal/replayed_durations.h"

namespace servetwin {
namespace {

using StepKey = std::pair<ReplicaId, StepId>;

class ShapeCollector final : public Observer {
 public:
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time, Time) override {
    shapes[{replica, step}] = shape;
  }
  void on_end(const RequestRecord& record) override {
    if (record.end_state == EndState::kStop) stops.push_back(record);
  }

  std::map<StepKey, StepShape> shapes;
  std::vector<RequestRecord> stops;
};

}  // namespace

LiveRunSteps run_live_steps(const Scenario& scenario,
                            LiveWorldOptions world_options,
                            const std::string& folder,
                            const volatile bool* stop) {
  std::map<StepKey, Duration> computed;
  world_options.on_result = [&computed](const StepResult& result) {
    computed[{result.replica, result.step}] = result.computed;
  };
  ShapeCollector shapes;
  LiveWorld world(scenario, std::move(world_options));
  RunOptions options;
  options.out = folder;
  options.force = true;
  options.journal = true;
  options.plain_loop = true;
  options.stop = stop;
  options.observers = {&shapes};
  options.world = &world;
  LiveRunSteps run;
  run.result = run_scenario(scenario, options);
  run.journal = journal_of(folder);
  run.stops = std::move(shapes.stops);
  JournalReader reader(run.journal);
  const std::vector<ReplayedDurations> durations = replayed_durations(reader);
  for (const auto& [key, shape] : shapes.shapes) {
    const ReplayedDurations& times = durations[raw(key.first)];
    const std::size_t index = raw(key.second) - 1;
    run.steps.push_back({shape, times.step_lags[index], times.steps[index], computed.at(key)});
  }
  return run;
}

}  // namespace servetwin
