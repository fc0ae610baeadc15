// Makes a device's operator profile from measured calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/operators/formula_fit.h"
#include "costmodels/operator_profile.h"

namespace servetwin {

struct FittedPart {
  std::string formula;
  std::string part;
  FitError left_out;  // of groups of shapes that the fit did not see
};

struct ProfileFit {
  OperatorProfile profile;
  std::vector<FittedPart> parts;
  FitError collectives;  // every other size left out
};

// `told` hears of each part as it is done. Parts with too few measurements are left out.
ProfileFit fit_profile(const OperatorSamples& samples,
                       const DeviceSpec& device,
                       const std::function<void(const FittedPart&)>& told);

}  // namespace servetwin
