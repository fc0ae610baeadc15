// Finds a formula's numbers and corrections from measured calls.
#pragma once

#include <vector>

#include "calibrate/operators/operator_samples.h"

namespace servetwin {

struct FormulaFit {
  std::vector<double> numbers;
  std::vector<std::vector<double>> corrections;  // empty: the formula has no tables, or none are wanted
};

struct FitSettings {
  bool corrections = true;
  double robust = 0.1;  // a residual, on the logarithm, beyond which a call pulls no harder
  double ridge = 2;     // how strongly corrections are held at nothing, in calls
  std::size_t most_calls =
      4000;  // numbers are fitted to so many at most, spread over all; corrections to all
};

// Levenberg-Marquardt on logarithms with weights that grow with the fourth root of the time, so that long
// calls count more and short ones still count; then ridge regression of what is left. The samples must be of
// `formula`; there must be more of them than it has numbers, or ConfigError says so.
FormulaFit fit_formula(const OperatorFormula& formula,
                       const GpuLimits& device,
                       const std::vector<const OperatorSample*>& samples,
                       const FitSettings& settings);

struct FitError {
  std::size_t samples = 0;
  double median = 0;       // of |error|
  double time_median = 0;  // below which half of all time lies
  double p90 = 0;
};

FitError error_of(const std::vector<double>& measured, const std::vector<double>& predicted);

// Predictions for every sample by a fit that did not see its group, five groups of groups in turn.
std::vector<double> predicted_left_out(const OperatorFormula& formula,
                                       const GpuLimits& device,
                                       const std::vector<const OperatorSample*>& samples,
                                       const FitSettings& settings);

}  // namespace servetwin
