// What must hold between the values of a scenario, beyond the limits of each.
#pragma once

#include <vector>

#include "engine/base/config_node.h"
#include "scenarios/scenario_spec.h"

namespace servetwin {

// Fills in what depends on other keys (marking its origin in `root`) and adds every problem found. Values that have
// a problem already are left alone.
void complete_scenario(ScenarioDocument& document, ConfigNode& root, std::vector<Problem>& problems);

}  // namespace servetwin
