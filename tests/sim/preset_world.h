// A preset's schedule worked by hand: each step as one line of rows, and what its plan says beside them.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/hand_world.h"
#include "tests/workload/nodes.h"

namespace servetwin::test {

inline std::unique_ptr<Preset> find_preset(const std::string& name) {
  return Registry<Preset>::instance().make(name, ConfigNode{});
}

// Rows as "request:tokens", in the order of the plan; steps without rows of their own are left out.
class StepLines final : public Observer {
 public:
  void on_plan(const StepPlan& plan) override {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kPreempt) preempted.push_back(raw(entry.request));
    }
    if (plan.shape.tokens == 0) return;
    std::string line;
    for (const StepRow& row : plan.rows) {
      if (!line.empty()) line += ' ';
      line += std::to_string(raw(row.request)) + ':' + std::to_string(row.tokens.value);
    }
    lines.push_back(line);
    shapes.push_back(plan.shape);
    used.push_back(plan.used_blocks.value);
  }

  std::vector<std::string> lines;
  std::vector<StepShape> shapes;
  std::vector<std::int64_t> used;
  std::vector<std::uint32_t> preempted;
};

// Sizes without a default in any preset; a test changes what it needs.
inline EngineConfig preset_engine(const std::string& name) {
  EngineConfig config = find_preset(name)->engine();
  config.max_model_len = Tokens{2048};
  config.num_blocks = Blocks{1 + 4096};
  config.plain_loop = true;
  return config;
}

class PresetWorld {
 public:
  // `rule` has the parameters `parameters`.
  PresetWorld(const RuleNames& names,
              const EngineConfig& engine,
              const std::string& rule = "",
              const ConfigNode& parameters = {})
      : cluster_({{engine}, 0},
                 [=] {
                   return make_rules(names, rule.empty() ? ConfigNode{} : map_of({{rule, parameters}}));
                 },
                 Registry<Router>::instance().make("round_robin", ConfigNode{}),
                 {&steps, &ends}) {}

  // Present when step `step` (from 1) is planned. Ids count from 0.
  RequestSpec& arrive(std::int64_t prompt, std::int64_t outputs, std::int64_t step = 1) {
    RequestSpec spec;
    spec.id = RequestId{static_cast<std::uint32_t>(specs_.size())};
    spec.arrival = at_ms((step - 1) * 10 - (step > 1 ? 5 : 0));
    spec.prompt = Tokens{prompt};
    spec.max_tokens = Tokens{outputs};
    return specs_.emplace_back(spec);
  }
  const std::vector<std::string>& run() {
    for (const RequestSpec& spec : specs_) {
      cluster_.add_request(spec);
      backend_.add(spec.arrival, Arrived{spec.id});
    }
    serve(cluster_, backend_);
    CHECK_INVARIANT(cluster_.unfinished() == 0, cluster_.unfinished());
    return steps.lines;
  }
  std::vector<std::int64_t> sequences() const {
    std::vector<std::int64_t> sizes;
    for (const StepShape& shape : steps.shapes) sizes.push_back(shape.sequences);
    return sizes;
  }
  std::vector<std::int64_t> tokens() const {
    std::vector<std::int64_t> sizes;
    for (const StepShape& shape : steps.shapes) sizes.push_back(shape.tokens);
    return sizes;
  }

  StepLines steps;
  Collect ends;

 private:
  std::vector<RequestSpec> specs_;
  HandBackend backend_;
  Cluster cluster_;
};

}  // namespace servetwin::test
