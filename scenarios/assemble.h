// Turns a scenario into the parts of a simulation.
#pragma once

#include <functional>
#include <memory>

#include "costmodels/cost_model.h"
#include "engine/metrics/recorder.h"
#include "engine/serving/cluster.h"
#include "scenarios/run_source.h"
#include "scenarios/scenario.h"
#include "sim/backend/sim_backend.h"

namespace servetwin {

struct RunParts {
  ClusterConfig cluster;
  std::function<RuleSet()> make_rules;
  std::unique_ptr<Router> router;
  std::unique_ptr<CostModel> cost;
  std::unique_ptr<StepTimeEstimator> estimator;  // over `cost`; null where that cannot be asked ahead
  std::unique_ptr<RunSource> source;
  std::unique_ptr<RequestSource> warm;  // prompts served before the run; null: cold caches
  bool tells_outputs = false;           // to a predictor that is an oracle
  RecorderOptions recorder;
  SimOptions sim;
};

// Fills the prefix caches with the prompts of `source`, in order of arrival. Returns how many were kept.
std::int64_t warm_caches(RequestSource& source, Cluster& cluster);

// Every step will be simulated by itself.
void use_plain_loop(RunParts& parts);

// Opens the files that the scenario names. Throws ConfigError with everything that is wrong.
RunParts assemble(const Scenario& scenario);

// What the rules of a scenario are given, where there is no run to take it from.
struct RuleInputs {
  std::unique_ptr<CostModel> cost;
  std::unique_ptr<StepTimeEstimator> estimator;
  RuleContext context;
};

RuleInputs rule_inputs(const Scenario& scenario);

// One replica's scheduler settings.
EngineConfig engine_config(const Scenario& scenario);

}  // namespace servetwin
