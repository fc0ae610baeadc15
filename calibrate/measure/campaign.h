// Measures one planned step after the other until the time is up or the fit is good enough.
#pragma once

#include <functional>
#include <optional>

#include "calibrate/measure/rows_file.h"
#include "calibrate/measure/step_timer.h"

namespace servetwin {

struct CampaignProgress {
  std::int64_t rows = 0;
  Duration spent{};
  std::optional<double> error;  // of steps left out, of the region that fits worst; none: too few steps yet
};

struct CampaignOptions {
  Duration budget{};
  std::int64_t fewest_rows = 1;  // also beyond the budget
  std::uint64_t seed = 1;
  double good_enough = 0.01;            // such an error ends it
  const volatile bool* stop = nullptr;  // becomes true when it shall end early
  std::function<void(const CampaignProgress&)> progress;
};

// Appends to `rows` and begins where they end.
CampaignProgress measure(StepTimer& timer,
                         const StepSpace& space,
                         RowsFile& rows,
                         const CampaignOptions& options);

// Times steps between runs of a reference step, which say how fast the machine is at that moment.
class SteadyTimer {
 public:
  SteadyTimer(StepTimer& timer, const StepSpace& space);

  // Runs a step as often as it takes, the first time for nothing. Where the reference is not the same after
  // it as before it, it is done again, a few times at most.
  StepRowTimes time(const PlannedStep& step);

 private:
  double reference();

  StepTimer& timer_;
  PlannedStep reference_step_;
  double before_ = 0;  // the reference's time when it was last run
};

}  // namespace servetwin
