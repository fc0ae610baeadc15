// What must hold between the values of a scenario, beyond the limits of each.
#pragma once

#include <vector>

#include "engine/base/config_node.h"
#include "scenarios/scenario.h"

namespace servetwin {

// Reads the parts that have readers of their own (model, device, workload), fills in what depends on them
// (marking its origin in `root`) and adds every problem found. What follows from a value in trouble is not
// reported again.
void complete_scenario(Scenario& scenario, ConfigNode& root, std::vector<Problem>& problems);

// Puts what the named preset sets otherwise than the defaults into `root`, where nobody else says it. An
// unknown preset is left for complete_scenario to report.
void add_preset(ConfigNode& root);

}  // namespace servetwin
