// Refusals of rules that lack what they need.
#include "engine/serving/rule_context.h"

#include <string>

#include "engine/base/error.h"

namespace servetwin {
namespace {

[[noreturn]] void refuse_rule(const std::string& rule, const std::string& what, const std::string& remedy) {
  throw ConfigError(Problem{"CFG202", {}, "spec.engine.rules", rule + " needs " + what, remedy});
}

std::vector<Duration> limits(const RuleContext& context,
                             std::optional<Duration> ClassLimits::*limit,
                             const std::string& rule,
                             const std::string& name) {
  std::vector<Duration> all;
  for (const ClassLimits& one : context.classes) {
    if ((one.*limit).has_value()) all.push_back(*(one.*limit));
  }
  if (all.empty() || all.size() < context.classes.size())
    refuse_rule(rule, "slo." + name + " of every class", "give spec.slo." + name + ", or each class its own");
  return all;
}

}  // namespace

const Predictor& required_predictor(const RuleContext& context, const std::string& rule) {
  if (context.predictor == nullptr)
    refuse_rule(rule, "predicted output lengths", "name a predictor in spec.engine.rules.predictor");
  return *context.predictor;
}

const StepTimeEstimator& required_estimator(const RuleContext& context, const std::string& rule) {
  if (context.estimator == nullptr)
    refuse_rule(rule, "an estimate of step times", "choose another rule, or give spec.cost");
  return *context.estimator;
}

std::vector<Duration> required_ttfts(const RuleContext& context, const std::string& rule) {
  return limits(context, &ClassLimits::ttft, rule, "ttft");
}

std::vector<Duration> required_tpots(const RuleContext& context, const std::string& rule) {
  return limits(context, &ClassLimits::tpot, rule, "tpot");
}

double required_swap_time(const RuleContext& context, const std::string& rule) {
  if (!context.swap_block_ns.has_value())
    refuse_rule(rule, "the time to copy a block to the host", "use recompute or swap");
  return *context.swap_block_ns;
}

Duration prefill_time(const StepTimeEstimator& estimator, Tokens tokens, Tokens context) {
  StepShape shape;
  shape.tokens = shape.prefill_tokens = tokens.value;
  shape.sequences = shape.prefill_sequences = shape.sampled_rows = 1;
  shape.max_context = context.value + tokens.value;
  shape.prefill_q_context = tokens.value * context.value;
  shape.prefill_q_squared = tokens.value * tokens.value;
  shape.window = estimator.window();
  if (shape.window > 0) shape.window_pairs = pairs_in_window(tokens.value, context.value, shape.window);
  return estimator.estimate(shape);
}

}  // namespace servetwin
