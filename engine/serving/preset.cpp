// Rules by name.
#include "engine/serving/preset.h"

#include "engine/base/registry.h"

namespace servetwin {
namespace {

template <class Rule>
std::unique_ptr<Rule> make_rule(const std::string& name,
                                const ConfigNode& params,
                                const typename Registry<Rule>::Context& context = {}) {
  const ConfigNode* own = params.is_map() ? params.find(name) : nullptr;
  return Registry<Rule>::instance().make(name, own == nullptr ? ConfigNode{} : *own, context);
}

}  // namespace

RuleSet make_rules(const RuleNames& names, const ConfigNode& params, RuleContext context) {
  RuleSet rules;
  if (names.predictor != kNoPredictor) rules.predictor = make_rule<Predictor>(names.predictor, params);
  context.predictor = rules.predictor.get();
  rules.waiting_order = make_rule<WaitingOrder>(names.waiting_order, params, context);
  rules.batch = make_rule<BatchRule>(names.batch, params);
  rules.admission = make_rule<AdmissionRule>(names.admission, params, context);
  rules.victim = make_rule<VictimRule>(names.victim, params, context);
  rules.pressure = make_rule<PressureRule>(names.pressure, params, context);
  rules.yield = make_rule<YieldRule>(names.yield, params, context);
  rules.step = make_rule<StepForm>(names.step, params);
  return rules;
}

}  // namespace servetwin
