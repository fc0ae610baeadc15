// Why a plan took a request's KV back: for whom, and which rule said so.
#pragma once

#include <string>

#include "engine/serving/plan.h"
#include "engine/serving/preset.h"

namespace servetwin {

// Of a kPreempt entry of a plan with all its rows: "to make room for request 7 (victim rule: last_admitted)".
std::string why_preempted(const StepPlan& plan, const PlanEntry& entry, const RuleNames& rules);

}  // namespace servetwin
