// A recorded run simulated with its own arrivals, clients and durations, and whether it decides the same.
#pragma once

#include <optional>
#include <string>

#include "cli/rerun.h"
#include "engine/journal/first_difference.h"

namespace servetwin {

struct ParityResult {
  DecisionComparison comparison;
  RunDigests recorded;
  RunDigests simulated;
  bool stopped = false;  // the run, before its end: then only whole steps are compared
};

// Of a journal. Throws ConfigError for one that is cut off.
ParityResult check_parity(const std::string& journal);

// The decisions of a recorded run against those of its scenario simulated with its cost model.
DecisionComparison compare_with_prediction(const std::string& journal);

}  // namespace servetwin
