// Where two runs first decide differently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/journal/decision_log.h"
#include "engine/serving/cluster.h"

namespace servetwin {

// One step as both runs decided it; nothing where a run has no such step.
struct DecisionDifference {
  std::optional<DecisionRecord> a;
  std::optional<DecisionRecord> b;
};

struct DecisionComparison {
  std::optional<DecisionDifference> first;  // nothing when all decisions are equal
  std::int64_t steps = 0;                   // of all replicas, of the longer run
  std::int64_t equal_steps = 0;

  double equal_share() const {
    return steps == 0 ? 1.0 : static_cast<double>(equal_steps) / static_cast<double>(steps);
  }
};

// Reads both sources to their ends, by turns; holds only what one run is ahead of the other on some replica.
// First is what happened earliest in either run; at equal times the cluster's decisions, then the lower
// replica.
DecisionComparison first_difference(DecisionSource& a, DecisionSource& b);

// For people: replica, step, when, where the two texts part, and the share of equal steps.
std::string to_text(const DecisionComparison& comparison,
                    const std::string& name_a,
                    const std::string& name_b);

// The records of a run as it runs: any backend, the log being among the cluster's observers.
class RunDecisions final : public DecisionSource {
 public:
  RunDecisions(Cluster& cluster, Backend& backend, DecisionLog& log)
      : cluster_(cluster), backend_(backend), log_(log) {}

  bool next(DecisionRecord& out) override;

 private:
  Cluster& cluster_;
  Backend& backend_;
  DecisionLog& log_;
  bool ended_ = false;
};

}  // namespace servetwin
