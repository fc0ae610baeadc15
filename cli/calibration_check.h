// Whether a profile still says what steps take here: a sample of steps measured anew.
#pragma once

#include <string>

#include "cli/calibration.h"

namespace servetwin {

struct ProfileCheck {
  bool holds = false;
  std::string text;  // the verdict and the errors by region
};

// Other steps than those it was fitted to. It holds when it is of this machine, model, number formats and
// threads, and half of the sampled steps of each region are off by at most 5 %, or twice what the profile
// says.
ProfileCheck check_profile(const StepProfile& profile,
                           const CalibrationTarget& target,
                           Duration budget,
                           std::uint64_t seed);

}  // namespace servetwin
