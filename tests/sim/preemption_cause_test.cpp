// If one of these fails, what a plan says of a preemption names the wrong request, or one where there is
// none.
#include <utility>

#include "tests/sim/rule_world.h"
#include "tests/support/catch.h"

namespace servetwin::preemption_cause_test {
namespace {

using namespace test;

// Who lost its KV for whom, in order.
class Causes final : public Observer {
 public:
  void on_plan(const StepPlan& plan) override {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kPreempt) causes.emplace_back(raw(entry.request), raw(entry.cause));
      if (entry.action != PlanAction::kPreempt) CHECK(entry.cause == kNoRequest);
    }
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> causes;
};

// Of two requests with so long prompts, in a pool that cannot hold both to their ends.
std::vector<std::pair<std::uint32_t, std::uint32_t>> causes_of(RuleWorld world,
                                                               std::vector<WorkloadItem> items) {
  Causes watcher;
  world.watchers = {&watcher};
  CHECK(world.run(std::move(items), true).unfinished == 0);
  return watcher.causes;
}

RuleWorld five_blocks() {
  RuleWorld world;
  world.config.block_size = Tokens{16};
  world.config.max_model_len = Tokens{80};
  world.config.num_blocks = Blocks{6};
  return world;
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST_CASE("a preemption names the running request for whose next block it was done") {
  // 1 takes the last free block first; when 0 needs its third there is none, and the last admitted goes.
  CHECK(causes_of(five_blocks(), {item_of(0, 0, 20, 20), item_of(1, 0, 28, 20)}) == Pairs{{1, 0}});
}

TEST_CASE("who finds no room for itself and is the victim is named as its own cause") {
  CHECK(causes_of(five_blocks(), {item_of(0, 0, 28, 20), item_of(1, 0, 20, 20)}) == Pairs{{1, 1}});
}

TEST_CASE("who gives way to a waiting request names that one") {
  RuleWorld world;
  world.names.waiting_order = "priority";
  world.names.yield = "by_order";
  world.config.max_num_seqs = 1;
  world.config.max_model_len = Tokens{1000};
  world.config.num_blocks = Blocks{200};
  std::vector<WorkloadItem> items = {item_of(0, 0, 10, 50), item_of(1, 100, 10, 20)};
  items[0].spec.priority = 5;
  CHECK(causes_of(world, items) == Pairs{{0, 1}});
}

TEST_CASE("room that a rule makes ahead for all is made for nobody in particular") {
  RuleWorld world = five_blocks();
  world.names = Registry<Preset>::instance().make("sglang", ConfigNode{})->rules();
  world.names.admission = "optimistic";
  const Pairs causes = causes_of(world, {item_of(0, 0, 20, 20), item_of(1, 0, 28, 20)});
  REQUIRE_FALSE(causes.empty());
  for (const auto& [victim, cause] : causes) CHECK(cause == raw(kNoRequest));
}

}  // namespace
}  // namespace servetwin::preemption_cause_test
