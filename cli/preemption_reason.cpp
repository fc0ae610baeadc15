// Whoever makes room for its own step is in the plan, as a row or as a later victim; who is not was waiting.
#include "cli/preemption_reason.h"

#include <algorithm>
#include <fmt/format.h>

namespace servetwin {

std::string why_preempted(const StepPlan& plan, const PlanEntry& entry, const RuleNames& rules) {
  if (entry.cause == kNoRequest)
    return fmt::format("to make room for the steps ahead (victim rule: {})", rules.victim);
  if (entry.cause == entry.request)
    return fmt::format("having found no room for its own next tokens (victim rule: {})", rules.victim);
  const bool has_row = std::any_of(plan.rows.begin(), plan.rows.end(),
                                   [&](const StepRow& row) { return row.request == entry.cause; });
  const bool is_victim = std::any_of(plan.entries.begin(), plan.entries.end(), [&](const PlanEntry& other) {
    return other.action == PlanAction::kPreempt && other.request == entry.cause;
  });
  if (has_row || is_victim)
    return fmt::format("to make room for request {} (victim rule: {})", raw(entry.cause), rules.victim);
  return fmt::format("giving way to request {}, which waits (yield rule: {})", raw(entry.cause), rules.yield);
}

}  // namespace servetwin
