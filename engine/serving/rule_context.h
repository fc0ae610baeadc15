// What a rule is given besides its parameters, and what it is told if it keeps state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/config.h"
#include "engine/serving/estimator.h"
#include "engine/serving/predictor.h"
#include "engine/serving/request.h"

namespace servetwin {

// What counts as good service of a traffic class.
struct ClassLimits {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
};

// A rule that needs what is not there throws ConfigError when it is made: nothing is defaulted.
struct RuleContext {
  const Predictor* predictor = nullptr;
  const StepTimeEstimator* estimator = nullptr;
  std::vector<ClassLimits> classes;     // by ClassId
  std::optional<double> swap_block_ns;  // to copy one KV block to the host, or back
};

// For constructors: what the context has, or the refusal of the rule of that name.
const Predictor& required_predictor(const RuleContext& context, const std::string& rule);
const StepTimeEstimator& required_estimator(const RuleContext& context, const std::string& rule);
std::vector<Duration> required_ttfts(const RuleContext& context, const std::string& rule);  // by class
std::vector<Duration> required_tpots(const RuleContext& context, const std::string& rule);
double required_swap_time(const RuleContext& context, const std::string& rule);

// How long a step of one prefill row takes.
Duration prefill_time(const StepTimeEstimator& estimator, Tokens tokens, Tokens context);

// Told to a rule that keeps state: each call once, in the order of what happens on the replica, the same in
// simulation, live and replay.
class RuleListener {
 public:
  virtual ~RuleListener() = default;
  // Whether it counts tokens (on_scheduled, on_output). The replica then plans in the plain loop, for the
  // decode shortcut touches nobody.
  virtual bool every_token() const { return true; }
  virtual void on_joined(const RequestSpec& /*request*/, Time /*now*/) {}  // for the first time
  // It entered the running ones with this prefix hit; `again` after a preemption.
  virtual void on_admitted(const RequestSpec& /*request*/, Tokens /*hit*/, bool /*again*/, Time /*now*/) {}
  // A plan that ran computes this many of its tokens.
  virtual void on_scheduled(const RequestSpec& /*request*/, Tokens /*tokens*/, Time /*now*/) {}
  virtual void on_output(const RequestSpec& /*request*/, Time /*now*/) {}
  // Its KV was taken back; it waits again.
  virtual void on_preempted(const RequestSpec& /*request*/, Time /*now*/) {}
  virtual void on_left(const RequestSpec& /*request*/) {}  // ended, from wherever it was
};

}  // namespace servetwin
