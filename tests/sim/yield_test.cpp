// If one of these fails, a running request gives way when it should not, not when it should, or for ever.
#include "tests/sim/rule_world.h"
#include "tests/support/catch.h"

namespace servetwin::yield_test {
namespace {

using namespace test;

RuleWorld by_priority(std::int64_t places) {
  RuleWorld world;
  world.names.waiting_order = "priority";
  world.names.yield = "by_order";
  world.config.max_num_seqs = places;
  world.config.max_model_len = Tokens{1000};
  world.config.num_blocks = Blocks{200};
  return world;
}

std::vector<WorkloadItem> important_comes_late() {
  std::vector<WorkloadItem> items = {item_of(0, 0, 10, 50), item_of(1, 100, 10, 20)};
  items[0].spec.priority = 5;
  return items;
}

TEST_CASE("a running request gives its place to a more important one, whose turn is the next plan") {
  RuleWorld world = by_priority(1);
  const auto records = by_id(world.run(important_comes_late()));
  CHECK(records.at(RequestId{0}).preemptions == 1);
  CHECK(records.at(RequestId{0}).outputs == Tokens{50});
  CHECK(records.at(RequestId{1}).end < records.at(RequestId{0}).end);
  world.names.yield = "never";
  const auto patient = by_id(world.run(important_comes_late()));
  CHECK(patient.at(RequestId{0}).preemptions == 0);
  CHECK(patient.at(RequestId{1}).first_scheduled >= patient.at(RequestId{0}).end);
}

TEST_CASE("nobody gives way where there is room, nor where all that could be gained is not enough") {
  RuleWorld world = by_priority(2);
  CHECK(world.run(important_comes_late()).collect.preemptions == 0);
  world.config.num_blocks = Blocks{12};  // 176 tokens; beside 0 and 1, both important, 2 cannot fit
  std::vector<WorkloadItem> items = {item_of(0, 0, 60, 100), item_of(1, 50, 150, 10)};
  items.push_back(item_of(2, 1, 40, 60));
  items[2].spec.priority = 5;
  items[0].spec.priority = -1;
  world.config.max_num_seqs = 3;
  // 1 needs more than 2 could give: it waits for 0.
  const auto records = by_id(world.run(items));
  CHECK(records.at(RequestId{0}).preemptions == 0);
  CHECK(records.at(RequestId{1}).first_scheduled >= records.at(RequestId{0}).end);
}

TEST_CASE("nobody gives way more often than its bound, however many more important ones come") {
  for (const std::int64_t most : {1, 3}) {
    RuleWorld world = by_priority(1);
    world.parameters = parameter("by_order", "max_preemptions", std::to_string(most));
    std::vector<WorkloadItem> items = {item_of(0, 0, 10, 60)};
    items[0].spec.priority = 5;
    for (std::uint32_t id = 1; id < 20; ++id) items.push_back(item_of(id, id * 100, 10, 5));
    const auto records = by_id(world.run(items));
    CHECK(records.at(RequestId{0}).preemptions == most);
    for (std::uint32_t id = 1; id < 20; ++id) CHECK(records.at(RequestId{id}).preemptions == 0);
  }
}

TEST_CASE("a short job overtakes a long one that runs under MLFQ, whose length nobody said") {
  RuleWorld world = by_priority(1);
  world.names.waiting_order = "mlfq";
  const std::vector<WorkloadItem> items = {item_of(0, 0, 10, 200), item_of(1, 700, 10, 10)};
  const auto records = by_id(world.run(items));
  CHECK(records.at(RequestId{0}).preemptions == 1);
  CHECK(records.at(RequestId{1}).end < records.at(RequestId{0}).end);
}

}  // namespace
}  // namespace servetwin::yield_test
