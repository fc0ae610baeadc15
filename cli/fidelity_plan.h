// Which loads a fidelity check runs: the scenario's own, everyone at once, and with --full shares of capacity
// and other lengths.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/fidelity_case.h"

namespace servetwin {

struct PlannedCase {
  std::string name;
  std::string folder;  // a word for it
  FidelityKind kind = FidelityKind::kLoaded;
  std::optional<double> load;  // offered, as a share of capacity
  Scenario scenario;
};

// All with the cost model `fitted` and that profile. Where the scenario's traffic has no rate (a closed loop,
// a trace), only its own load is there. Simulates for capacities. Throws ConfigError.
std::vector<PlannedCase> plan_fidelity(const std::string& name,
                                       const ScenarioOverrides& given,
                                       const std::string& profile,
                                       int threads,
                                       bool full);

}  // namespace servetwin
