// A server in front of a model as a scenario, so that its sessions are runs like others.
#pragma once

#include "scenarios/live_engine.h"
#include "scenarios/scenario.h"

namespace servetwin {

// Its engine settings are those of `options`, which must be complete. What clients ask for and how long steps
// take is not in it: a session's journal says that, and neither its workload nor its cost model is used.
Scenario served_scenario(const LiveEngineOptions& options);

}  // namespace servetwin
