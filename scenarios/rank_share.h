// What each rank of a tensor-parallel replica holds, in words.
#pragma once

#include <string>

#include "engine/base/units.h"
#include "engine/models/tensor_parallel.h"
#include "scenarios/scenario.h"

namespace servetwin {

struct SharedModel {
  int ranks = 1;
  SplitLayout layout{};
};

// A line with the heads, widths and bytes of the largest share; empty for one rank, and for a shape that does
// not split evenly.
std::string rank_share_text(const ModelSpec& model, const SharedModel& how, Bytes weights, Bytes kv_cache);

// Of a scenario's model, with the bytes that the memory model counts.
std::string rank_share_text(const Scenario& scenario);

}  // namespace servetwin
