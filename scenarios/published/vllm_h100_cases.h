// The runs of the set vllm-h100 as cases.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/base/csv_table.h"
#include "scenarios/published/served_case.h"

namespace servetwin {

struct LoadStage {
  double rate = 0;
  double seconds = 0;
};

// Of "2.5rps x 600s;6.0rps x 600s".
std::vector<LoadStage> stages_of(const std::string& text);
// `first`: nothing ran before this stage, so the prefix cache is empty.
ServedCase vllm_h100_case(const CsvTable& table, std::size_t row, const LoadStage& stage, bool first);

}  // namespace servetwin
