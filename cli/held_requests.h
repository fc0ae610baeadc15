// Which requests a step did not advance, and why, one by one; a plan itself only counts them.
#pragma once

#include <string>
#include <vector>

#include "engine/serving/cluster.h"
#include "engine/serving/plan.h"

namespace servetwin {

struct HeldRequest {
  RequestId request = kNoRequest;
  bool running = false;
  HeldReason reason = HeldReason::kTokenBudget;
};

// During on_plan of a plain loop. Those that run come first, in running order, then those that wait, in the
// order in which they are looked at. By reason they are as many as the plan counts, which is checked.
std::vector<HeldRequest> held_requests(const Cluster& cluster, const StepPlan& plan);

// "waiting, token budget".
std::string in_words(const HeldRequest& held);
// The numbers behind the reason, in a sentence.
std::string because(HeldReason reason, const StepPlan& plan, const EngineConfig& config);

}  // namespace servetwin
