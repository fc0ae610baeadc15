// The folder that a comparison writes its files into.
#pragma once

#include <string>
#include <vector>

#include "scenarios/comparison_run.h"

namespace servetwin {

// Throws ConfigError where another comparison's files are there and are not to be replaced.
void check_comparison_folder(const std::string& folder, bool replace);
// comparison.json and comparison.csv; their paths. Throws IoError.
std::vector<std::string> write_comparison(const std::string& folder, const ComparisonOutcome& outcome);

}  // namespace servetwin
