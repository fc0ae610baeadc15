// An engine's own times as the numbers that a fit moves.
#pragma once

#include <vector>

#include "costmodels/engine_set.h"

namespace servetwin {

// Logarithms: of step, prefill_step, sequence, layer, all_reduce_skew, sampling, sampling_logit_ns and the
// front end's time.
std::vector<double> engine_logs(const EngineSet& set);
// The set with those numbers, rounded to three digits.
EngineSet engine_of_logs(EngineSet set, const std::vector<double>& x);

}  // namespace servetwin
