// Gives rules of the decision core the times that the simulation itself uses.
#pragma once

#include "costmodels/cost_model.h"
#include "engine/base/check.h"
#include "engine/serving/estimator.h"

namespace servetwin {

// The cost model must outlive it, must not be keyed by step or request (replay is) and must not need rows
// (vidur_tables does): a question asked before a step has none of them.
class CostEstimator final : public StepTimeEstimator {
 public:
  explicit CostEstimator(const CostModel& model) : model_(model) {
    CHECK_INVARIANT(!model.needs_rows(), model.describe());
  }

  Duration estimate(const StepShape& shape) const override {
    StepInput input;
    input.shape = &shape;
    return model_.step_time(input);
  }

  std::int64_t window() const override { return model_.window(); }
  std::uint64_t profile_hash() const override { return model_.profile_hash(); }

 private:
  const CostModel& model_;
};

}  // namespace servetwin
