// Finished runs as a comparison reads them: requests.csv and summary.json of their folders.
#pragma once

#include <string>
#include <vector>

#include "scenarios/comparison_run.h"

namespace servetwin {

// Two or more folders, each a variant called as it is given, of one seed: nothing is simulated. Throws
// ConfigError for folders that hold no complete run, and as check_comparable().
ComparisonOutcome compare_folders(const std::vector<std::string>& folders,
                                  const ComparisonOverrides& overrides);

}  // namespace servetwin
