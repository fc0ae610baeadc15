// If this fails, a registered cost model breaks a promise that every cost model gives; a new one is tested
// before its author writes a test.
#include <map>

#include "tests/costmodels/fitted_profile.h"
#include "tests/costmodels/operation_folder.h"
#include "tests/costmodels/operator_rig.h"
#include "tests/support/catch.h"

namespace servetwin::conformance_test {
namespace {

// One of each registered model, with parameters that make it depend on all it can.
class EveryModel {
 public:
  EveryModel()
      : model_(llama_8b()),
        device_(h100_with_operators()),
        engine_(engine_by_hand()),
        operators_(starting_profile(device_)),
        table_("conformance.csv", "step,duration_us\n*,250.5\n"),
        folder_("conformance_ops", rising_tables()) {
    context_ = fitted_context(model_, device_);
    profile_to_read() = profile_by_hand(model_);
    context_.engine = &engine_;
    context_.operators = &operators_;
    const std::map<std::string, Entries> parameters{
        {"analytic", {}},
        {"fitted", {{"profile", "any"}}},
        {"hybrid", {{"engine", "by-hand"}}},
        {"layer_tables", {{"tables", LayerFiles::prefix()}, {"engine", "by-hand"}}},
        {"linear",
         {{"base", "6.5ms"},
          {"per_token_ns", "25000"},
          {"per_context_ns", "48.9"},
          {"per_sequence_ns", "3.3"}}},
        {"replay", {{"durations", table_.path()}}},
        {"vidur_tables", {{"ops", folder_.path()}, {"attention", "measured"}}},
    };
    for (const std::string& name : Registry<CostModel>::instance().names()) {
      INFO(name);
      REQUIRE(parameters.count(name) == 1);
      models.emplace_back(name, make_cost(name, parameters.at(name), context_));
      same.emplace_back(name, make_cost(name, parameters.at(name), context_));
    }
  }

  std::vector<std::pair<std::string, std::unique_ptr<CostModel>>> models;
  std::vector<std::pair<std::string, std::unique_ptr<CostModel>>> same;

 private:
  ModelSpec model_;
  DeviceSpec device_;
  EngineSet engine_;
  OperatorProfile operators_;
  LayerFiles layers_;
  TestFile table_;
  OperationFolder folder_;
  CostContext context_;
};

constexpr std::uint64_t kNumSteps = 2000;

// Kernels as they were measured are not monotone: whole tiles, and means that stand for rows of several
// lengths.
Duration at_least(const std::string& name, Duration time) {
  const bool measured = name == "hybrid" || name == "layer_tables";
  return measured ? Duration{time.count() / 100 * 95} : time;
}

TEST_CASE("seven cost models are registered") {
  CHECK(Registry<CostModel>::instance().names() == std::vector<std::string>{"analytic", "fitted", "hybrid",
                                                                            "layer_tables", "linear",
                                                                            "replay", "vidur_tables"});
}

TEST_CASE("every step costs time, and its parts add up to it") {
  for (const auto& [name, cost] : EveryModel().models) {
    for (std::uint64_t n = 0; n < kNumSteps; ++n) {
      const TestStep random = random_step(n);
      const StepCost step = cost_of(*cost, random);
      INFO(name << " step " << n);
      REQUIRE(step.total > Duration::zero());
      REQUIRE(step.total == time_of(*cost, random));
      double sum = 0;
      for (const OpCost& op : step.ops) {
        REQUIRE(op.ns >= 0);
        REQUIRE((op.ns > 0) == (op.bound != Bound::kNone));
        sum += op.ns;
      }
      REQUIRE(std::abs(sum - static_cast<double>(to_ns(step.total))) < 1.0);
    }
  }
}

TEST_CASE("a decode step's line gives the very same integer for every context") {
  for (const auto& [name, cost] : EveryModel().models) {
    for (std::uint64_t n = 0; n < kNumSteps; ++n) {
      StepShape shape = random_step(n).shape;
      auto line = cost->decode_line(shape);
      INFO(name << " step " << n);
      if (!shape.pure_decode()) continue;
      REQUIRE(line.has_value() == (name != "vidur_tables"));
      if (!line.has_value()) break;
      REQUIRE(line->host_ns == part(cost_of(*cost, shape), OpClass::kHost).ns);
      for (int step = 0; step < 50; ++step) {
        shape.decode_context += shape.decode_sequences;
        shape.max_context += 1;
        if (!line->holds(static_cast<double>(shape.decode_context))) line = cost->decode_line(shape);
        REQUIRE(line->holds(static_cast<double>(shape.decode_context)));
        const double ns = line->base_ns + line->slope_ns * static_cast<double>(shape.decode_context);
        REQUIRE(duration_from_ns(ns) == time_of(*cost, shape));
      }
    }
  }
}

TEST_CASE("more context, more rows or more tokens never make a step shorter") {
  for (const auto& [name, cost] : EveryModel().models) {
    for (std::uint64_t n = 0; n < kNumSteps; ++n) {
      const TestStep step = random_step(n);
      const Duration time = at_least(name, time_of(*cost, step));
      INFO(name << " step " << n);
      REQUIRE(time_of(*cost, with_prefill(step, 1, 0)) >= time);
      REQUIRE(time_of(*cost, with_prefill(step, 512, 4000)) >= time);
      TestStep more = step;
      more.shape.sequences += 1;
      more.shape.decode_sequences += 1;
      more.shape.decode_context += 1;
      more.shape.tokens += 1;
      more.shape.sampled_rows += 1;
      REQUIRE(time_of(*cost, more) >= time);
      TestStep longer = step;
      longer.shape.decode_context += step.shape.decode_sequences;
      longer.shape.prefill_q_context += step.shape.prefill_tokens;
      longer.shape.max_context += 1;
      for (PrefillRow& row : longer.prefill_rows) row.context += 1;
      REQUIRE(time_of(*cost, longer) >= time);
      TestStep padded = step;
      padded.shape.graph_size = step.shape.tokens;
      const Duration exact = at_least(name, time_of(*cost, padded));
      padded.shape.graph_size = step.shape.tokens + 8;
      REQUIRE(time_of(*cost, padded) >= exact);
    }
  }
}

TEST_CASE("the hash of a profile is the same for the same numbers") {
  const EveryModel every;
  for (std::size_t i = 0; i < every.models.size(); ++i) {
    CHECK(every.models[i].second->profile_hash() == every.same[i].second->profile_hash());
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(every.models[i].second->profile_hash() != every.models[j].second->profile_hash());
    }
  }
}

}  // namespace
}  // namespace servetwin::conformance_test
