// The table and the JSON of a fidelity check.
#pragma once

#include <string>
#include <vector>

#include "cli/fidelity_case.h"

namespace servetwin {

// Of one case: a line a figure, then steps and decisions.
std::string fidelity_table(const FidelityCase& one);
// One line: how many judged figures are within their bounds, off, or too noisy to judge.
std::string fidelity_sentence(const std::vector<FidelityCase>& cases);
std::string fidelity_json(const std::vector<FidelityCase>& cases, const std::string& profile);
// Whether some judged figure is off, or a replay decided otherwise than the live run.
bool is_off(const std::vector<FidelityCase>& cases);

}  // namespace servetwin
