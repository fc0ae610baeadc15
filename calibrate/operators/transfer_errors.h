// How well one device's operator profile predicts the measured calls of another, from the limits of both
// alone.
#pragma once

#include <vector>

#include "calibrate/operators/profile_fit.h"

namespace servetwin {

struct TransferErrors {
  std::vector<FittedPart> parts;  // as FittedPart::left_out: none of the calls was seen
  FitError all;                   // of their calls together
  std::size_t short_calls = 0;    // that are not judged
  std::size_t unknown = 0;        // of kernels that the profile does not have
};

// Calls of `shortest_us` and less are not judged: they are floors of launches and of benchmarks.
TransferErrors transfer_errors(const OperatorSamples& samples,
                               const DeviceSpec& device,
                               const OperatorProfile& profile,
                               double shortest_us = 20);

}  // namespace servetwin
