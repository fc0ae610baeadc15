// Rules by name.
#include "engine/serving/preset.h"

#include "engine/base/registry.h"

namespace servetwin {
namespace {

template <class Rule>
std::unique_ptr<Rule> make_rule(const std::string& name, const ConfigNode& params) {
  const ConfigNode* own = params.is_map() ? params.find(name) : nullptr;
  return Registry<Rule>::instance().make(name, own == nullptr ? ConfigNode{} : *own);
}

}  // namespace

RuleSet make_rules(const RuleNames& names, const ConfigNode& params) {
  RuleSet rules;
  rules.waiting_order = make_rule<WaitingOrder>(names.waiting_order, params);
  rules.batch = make_rule<BatchRule>(names.batch, params);
  rules.admission = make_rule<AdmissionRule>(names.admission, params);
  rules.victim = make_rule<VictimRule>(names.victim, params);
  rules.pressure = make_rule<PressureRule>(names.pressure, params);
  rules.step = make_rule<StepForm>(names.step, params);
  return rules;
}

}  // namespace servetwin
