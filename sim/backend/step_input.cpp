// Rows that are no decode rows are the plan's chunks and admissions, so they are taken from its entries.
#include "sim/backend/step_input.h"

namespace servetwin {

StepInput step_input(const StepPlan& plan, const CostModel& model, std::vector<PrefillRow>& rows) {
  StepInput input;
  input.shape = &plan.shape;
  input.replica = plan.replica;
  input.step = plan.step;
  if (!plan.entries.empty()) {
    input.first_request = plan.entries.front().request;
  } else if (!plan.rows.empty()) {
    input.first_request = plan.rows.front().request;
  }
  if (!model.needs_rows() || plan.shape.prefill_sequences == 0) return input;
  rows.clear();
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action != PlanAction::kChunk && entry.action != PlanAction::kAdmit) continue;
    rows.push_back({entry.tokens.value, entry.context.value});
  }
  input.prefill_rows = rows;
  return input;
}

}  // namespace servetwin
