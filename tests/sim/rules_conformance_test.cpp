// If one of these fails, some rule overruns the budget, loses or starves a request, stops the world, or makes
// a run depend on how it is computed.
#include <algorithm>
#include <rapidcheck.h>
#include <set>

#include "tests/sim/rule_world.h"
#include "tests/support/catch.h"

namespace servetwin::rules_conformance_test {
namespace {

using namespace test;
using namespace std::chrono_literals;

// One rule under test beside default ones.
struct Case {
  RuleNames names;
  ConfigNode parameters;
  std::string name;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& order : Registry<WaitingOrder>::instance().names()) {
    for (const char* yield : {"never", "by_order"}) {
      Case one;
      one.names.waiting_order = order;
      one.names.yield = yield;
      one.names.predictor = "noisy_oracle";
      one.name = order + ", yield " + yield;
      all.push_back(one);
    }
  }
  for (const std::string& predictor : Registry<Predictor>::instance().names()) {
    Case one;
    one.names.waiting_order = "srtf";
    one.names.predictor = predictor;
    one.name = "predictor " + predictor;
    all.push_back(one);
  }
  const auto vary = [&](auto member, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Case one;
      one.names.*member = name;
      one.name = name;
      all.push_back(one);
    }
  };
  vary(&RuleNames::batch, Registry<BatchRule>::instance().names());
  vary(&RuleNames::admission, Registry<AdmissionRule>::instance().names());
  vary(&RuleNames::victim, Registry<VictimRule>::instance().names());
  vary(&RuleNames::pressure, Registry<PressureRule>::instance().names());
  Case skipping;
  skipping.parameters = parameter("optimistic", "max_skips", "3");
  skipping.name = "optimistic, skipping";
  all.push_back(skipping);
  return all;
}

std::vector<WorkloadItem> random_items() {
  std::vector<WorkloadItem> items;
  std::int64_t at = 0;
  const auto count = *rc::gen::inRange<std::uint32_t>(5, 40);
  for (std::uint32_t id = 0; id < count; ++id) {
    at += *rc::gen::inRange<std::int64_t>(0, 60);
    WorkloadItem item =
        item_of(id, at, *rc::gen::inRange<std::int64_t>(1, 120), *rc::gen::inRange<std::int64_t>(1, 80));
    item.spec.max_tokens = Tokens{*rc::gen::inRange<std::int64_t>(1, 90)};
    item.spec.priority = *rc::gen::inRange(0, 3);
    item.spec.tenant = static_cast<TenantId>(*rc::gen::inRange(0, 3));
    const std::int64_t shared = std::min<std::int64_t>(item.spec.prompt.value, *rc::gen::inRange(0, 160));
    if (shared > 0) item.spec.content.push_back({*rc::gen::inRange<std::uint64_t>(1, 4), Tokens{shared}});
    if (shared > 0 && item.spec.prompt.value > shared)
      item.spec.content.push_back({1000U + id, Tokens{item.spec.prompt.value - shared}});
    // Generated text goes on where longer prompts of the same stream find it.
    item.spec.continues_content = shared == item.spec.prompt.value && *rc::gen::inRange(0, 2) == 0;
    if (*rc::gen::inRange(0, 8) == 0)
      item.truth.cancel_after = Duration{*rc::gen::inRange(0, 2000) * 1'000'000};
    items.push_back(item);
  }
  return items;
}

RuleWorld random_world(const Case& one) {
  RuleWorld world;
  world.names = one.names;
  world.parameters = one.parameters;
  world.config.block_size = Tokens{*rc::gen::element<std::int64_t>(1, 4, 16)};
  world.config.num_blocks =
      Blocks{2 + *rc::gen::inRange<std::int64_t>(220, 900) / world.config.block_size.value};
  world.config.max_model_len = Tokens{215};
  world.config.max_num_batched_tokens = Tokens{*rc::gen::inRange<std::int64_t>(20, 200)};
  world.config.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 12);
  world.config.prefix_caching = *rc::gen::inRange(0, 3) > 0;
  world.config.full_sequence_gate = *rc::gen::inRange(0, 3) > 0;
  if (one.names.pressure != "recompute")
    world.config.host_blocks = Blocks{*rc::gen::inRange<std::int64_t>(1, 200)};
  return world;
}

// Watches the budget of each step and that nobody is preempted twice without having computed more than
// before.
class Watch final : public Observer {
 public:
  explicit Watch(Tokens budget) : budget_(budget) {}
  void on_plan(const StepPlan& plan) override {
    within_budget = within_budget && plan.shape.tokens <= budget_.value;
    std::set<RequestId> seen;
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kAdmit || entry.action == PlanAction::kChunk)
        once = once && seen.insert(entry.request).second;
    }
  }
  bool within_budget = true;
  bool once = true;

 private:
  Tokens budget_;
};

TEST_CASE(
    "every rule keeps the budget, loses nobody, comes to an end, and plans the same again and unshortened") {
  for (const Case& one : cases()) {
    INFO(one.name);
    std::int64_t preemptions = 0;
    const bool held = rc::check(one.name, [&one, &preemptions] {
      const std::vector<WorkloadItem> items = random_items();
      RuleWorld world = random_world(one);
      Watch watch(world.config.max_num_batched_tokens);
      world.watchers = {&watch};
      const RunResult plain = world.run(items, true);
      RC_ASSERT(watch.within_budget);
      RC_ASSERT(watch.once);
      RC_ASSERT(plain.unfinished == 0U);
      RC_ASSERT(plain.collect.records.size() == items.size());
      preemptions += plain.collect.preemptions;
      world.watchers.clear();
      const RunResult fast = world.run(items, false);
      RC_ASSERT(fast.decisions == plain.decisions);
      RC_ASSERT(fast.timeline == plain.timeline);
      RC_ASSERT(world.run(items, false).timeline == fast.timeline);
    });
    CHECK(held);
    if (one.names.admission == "optimistic") CHECK(preemptions > 0);
    if (one.names.admission == "conservative") CHECK(preemptions == 0);
  }
}

// Nobody enters while someone waits who began to wait a bound's length before it arrived.
class StarvationWatch final : public Observer {
 public:
  StarvationWatch(const std::vector<WorkloadItem>& items, Duration bound) : bound_(bound) {
    for (const WorkloadItem& item : items) arrival_[item.spec.id] = item.spec.arrival;
  }
  void on_routed(const RequestSpec& request, ReplicaId, Time now) override { waits_since_[request.id] = now; }
  void on_plan(const StepPlan& plan) override {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kPreempt) waits_since_[entry.request] = plan.time;
      if (entry.action != PlanAction::kAdmit) continue;
      waits_since_.erase(entry.request);
      for (const auto& [other, since] : waits_since_)
        held = held && arrival_.at(entry.request) <= since + bound_;
    }
  }
  void on_end(const RequestRecord& record) override { waits_since_.erase(record.id); }
  bool held = true;

 private:
  Duration bound_;
  std::map<RequestId, Time> arrival_;
  std::map<RequestId, Time> waits_since_;
};

// Short bounds, so that they matter in short runs.
ConfigNode short_bounds() {
  const auto one = [](const char* name) { return map_of({{name, text("300ms")}}); };
  return map_of({{"sjf", one("max_wait")},
                 {"srtf", one("max_wait")},
                 {"lpm", one("max_wait")},
                 {"andes", one("max_wait")},
                 {"slo_slack", one("max_wait")},
                 {"mlfq", one("promote_after")},
                 {"priority_ageing", map_of({{"tau", text("100ms")}, {"max_wait", text("400ms")}})}});
}

TEST_CASE(
    "where a waiting order states a starvation bound, nobody who arrives that much later enters before") {
  int bounded = 0;
  for (const std::string& order : Registry<WaitingOrder>::instance().names()) {
    INFO(order);
    RuleWorld world;
    world.names.waiting_order = order;
    world.names.predictor = "oracle";
    world.parameters = short_bounds();
    world.classes = {{300ms, 50ms}, {900ms, 50ms}};
    const TestCost cost;
    const CostEstimator asked(cost);
    const RuleSet rules = make_rules(world.names, world.parameters, world.context(asked));
    const std::optional<Duration> bound = rules.waiting_order->starvation_bound();
    if (!bound.has_value()) continue;
    ++bounded;
    world.config.max_model_len = Tokens{215};
    world.config.num_blocks = Blocks{2000};
    world.config.max_num_seqs = 2;
    const bool held = rc::check(order, [&] {
      std::vector<WorkloadItem> items = random_items();
      for (WorkloadItem& item : items) item.spec.traffic_class = static_cast<ClassId>(raw(item.spec.id) % 2);
      StarvationWatch watch(items, *bound);
      world.watchers = {&watch};
      RC_ASSERT(world.run(items, true).unfinished == 0U);
      RC_ASSERT(watch.held);
    });
    CHECK(held);
  }
  CHECK(bounded >= 8);
}

}  // namespace
}  // namespace servetwin::rules_conformance_test
