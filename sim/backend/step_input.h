// What a cost model is shown of a plan.
#pragma once

#include <vector>

#include "costmodels/cost_model.h"
#include "engine/serving/plan.h"

namespace servetwin {

// Points into the plan, and into `rows` where the model asks for rows: both must outlive the input.
StepInput step_input(const StepPlan& plan, const CostModel& model, std::vector<PrefillRow>& rows);

}  // namespace servetwin
