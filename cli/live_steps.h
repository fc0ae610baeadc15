// A live run with every step's shape and times beside its results: what calibration and fidelity read.
#pragma once

#include <string>
#include <vector>

#include "scenarios/live_world.h"
#include "scenarios/run.h"

namespace servetwin {

struct LiveStep {
  StepShape shape;
  Duration lag{};       // from when it could be planned to its plan
  Duration duration{};  // from its plan to the delivery of its result
  Duration computed{};  // the runner's part of that

  Duration whole() const { return lag + duration; }
};

struct LiveRunSteps {
  RunResult result;
  std::string journal;
  std::vector<RequestRecord> stops;  // of requests that stopped by themselves
  std::vector<LiveStep> steps;       // by replica, then in order
};

// Runs it into the folder, whose earlier files are replaced.
LiveRunSteps run_live_steps(const Scenario& scenario,
                            LiveWorldOptions world_options,
                            const std::string& folder,
                            const volatile bool* stop);

}  // namespace servetwin
