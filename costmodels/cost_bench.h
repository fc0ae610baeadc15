// Times a cost model for the benchmark program.
#pragma once

#include <cstdint>

#include "costmodels/cost_model.h"

namespace servetwin {

// Prices `count` different decode steps with prefill in every fourth; the sum keeps the work from being
// optimised away, and two builds can compare it. The caller has the clock: nothing here reads one.
std::int64_t price_many(const CostModel& model, std::int64_t count);

}  // namespace servetwin
