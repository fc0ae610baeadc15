// Where the record ends, because the decisions went another way, the scenario's cost model goes on.
#include "scenarios/recorded_simulation.h"

#include <utility>
#include <vector>

namespace servetwin {

RecordedSimulation::RecordedSimulation(const Scenario& scenario, const RecordedRun& run)
    : parts_(assemble(scenario)), source_(run) {
  use_plain_loop(parts_);
  parts_.sim.replayed = &run.durations;
  cluster_ = std::make_unique<Cluster>(parts_.cluster, parts_.make_rules, std::move(parts_.router),
                                       std::vector<Observer*>{&log_});
  const std::vector<const CostModel*> costs{parts_.cost.get()};
  backend_ = std::make_unique<SimBackend>(source_, costs, parts_.sim);
  backend_->attach(*cluster_);
  if (parts_.warm) warm_caches(*parts_.warm, *cluster_);
  decisions_ = std::make_unique<RunDecisions>(*cluster_, *backend_, log_);
}

}  // namespace servetwin
