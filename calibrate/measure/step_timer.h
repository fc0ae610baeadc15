// What measures: something that runs a step, and says how long it took.
#pragma once

#include "calibrate/measure/planned_step.h"
#include "engine/base/time.h"

namespace servetwin {

struct TimedRun {
  Duration time{};
  bool disturbed = false;  // the system took a core away meanwhile
};

class StepTimer {
 public:
  virtual ~StepTimer() = default;
  // Brings about what the step's rows continue, outside the time.
  virtual void prepare(const PlannedStep& step) = 0;
  // Runs the prepared step; may be called again for the same one.
  virtual TimedRun run() = 0;
  // Monotonic; what the budget is counted by.
  virtual Duration now() = 0;
};

}  // namespace servetwin
