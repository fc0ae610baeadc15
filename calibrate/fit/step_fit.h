// Fits what steps take to their shapes: which terms, at which numbers of tokens their price changes, and how
// far off steps are that the fit has not seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodels/step_profile.h"

namespace servetwin {

struct MeasuredStep {
  StepShape shape;
  double ns = 0;
};

enum class StepRegion : std::uint8_t { kDecode, kPrefill, kMixed };
inline constexpr int kNumStepRegions = 3;
StepRegion region_of(const StepShape& shape);
const char* to_string(StepRegion region);

// Steps that are left out of a fit together: of one region, of like numbers of decode rows and prefill tokens
// (within a factor of two).
std::int64_t shape_group(const StepShape& shape);

struct StepFit {
  StepTerms terms;
  ProfileDomain domain;
  HeldOutErrors error;

  double median_error() const;  // of the region that fits worst
};

// Coefficients have six significant digits. Throws ConfigError, naming `source`, for fewer steps than terms,
// or steps of one group only.
StepFit fit_steps(const std::vector<MeasuredStep>& steps, const std::string& source);

// Errors of terms for steps that no fit has seen, by region.
HeldOutErrors errors_of(const std::vector<MeasuredStep>& steps, const std::vector<double>& predicted);

// What the profile's device takes for a step, without the host's part.
double device_ns(const StepProfile& profile, const StepShape& shape);

// The host's part of steps, by rows, rows admitted and rows sampled. Throws as above.
HostTerms fit_host(const std::vector<MeasuredStep>& steps, const std::string& source);

// The value with six significant digits.
double six_digits(double value);

}  // namespace servetwin
