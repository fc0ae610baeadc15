// Fits what a server's steps and front end take to the times that its clients see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/endpoint/load_rows.h"
#include "costmodels/endpoint_facts.h"
#include "costmodels/step_profile.h"

namespace servetwin {

struct LoadFit {
  StepTerms terms;
  double front_end_ns = 0;        // of a request: what its first token takes beyond the steps
  double front_end_token_ns = 0;  // of a prompt's token, in the same way: tokenising
  std::vector<PriceInterval> intervals;
  ProfileDomain domain;
  HeldOutErrors error;    // of steps; prefill: of times to the first token
  std::int64_t rows = 0;  // that were used
};

// Coefficients have six significant digits; intervals are those of 200 resamplings of the loads. Throws
// ConfigError (CAL001), naming `source`, for fewer loads than prices or without one of the three phases.
LoadFit fit_load(const std::vector<LoadRow>& rows, const std::string& source);

// What a row would take by those terms.
double predicted_ns(const LoadFit& fit, const LoadRow& row);

// Median relative difference between two rows of the same load: no fit can be closer. 0 where no load has
// two.
double load_repeat_difference(const std::vector<LoadRow>& rows);

}  // namespace servetwin
