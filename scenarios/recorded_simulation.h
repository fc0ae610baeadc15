// A recorded run simulated: its own arrivals, clients and durations; only the decisions are made anew.
#pragma once

#include <memory>

#include "engine/journal/first_difference.h"
#include "scenarios/assemble.h"
#include "scenarios/scenario.h"
#include "sim/backend/recorded_run.h"

namespace servetwin {

class RecordedSimulation {
 public:
  // `run` must outlive it.
  RecordedSimulation(const Scenario& scenario, const RecordedRun& run);

  // Simulates as it is read.
  DecisionSource& decisions() { return *decisions_; }
  const Cluster& cluster() const { return *cluster_; }

 private:
  RunParts parts_;
  RecordedSource source_;
  DecisionLog log_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SimBackend> backend_;
  std::unique_ptr<RunDecisions> decisions_;
};

}  // namespace servetwin
