// The parts of a scenario around the simulated backend.
#include "scenarios/run_world.h"
#include "sim/backend/sim_backend.h"

namespace servetwin {

WorldOutcome SimulatedWorld::serve(Cluster& cluster,
                                   RunParts& parts,
                                   JournalWriter* /*journal*/,
                                   const volatile bool* stop) {
  parts.sim.stop = stop;
  SimBackend backend(*parts.source, {parts.cost.get()}, parts.sim);
  backend.attach(cluster);
  if (parts.warm) warm_caches(*parts.warm, cluster);
  servetwin::serve(cluster, backend);
  return {backend.interrupted(), backend.num_steps()};
}

}  // namespace servetwin
