// Which blocks are shared, evicted and handed out. If one fails, cache hits or the order of eviction differ
// from vLLM V1's KV manager.
#include "tests/support/golden_rig.h"

namespace servetwin::test_prefix_cache {

namespace {

using Ids = std::vector<int>;

ContentSegment part(std::uint64_t stream, std::int64_t length) { return {stream, Tokens{length}}; }

GoldenSetup pool_of(std::int64_t blocks) {
  GoldenSetup setup = roomy_setup();
  setup.engine.num_blocks = Blocks{blocks};
  return setup;
}

// Where block ids can be seen they must be these.
void check_ids(const std::optional<Ids>& seen, const Ids& expected) {
  if (seen) CHECK(*seen == expected);
}

constexpr RequestId kFirst{0};
constexpr RequestId kSecond{1};
constexpr RequestId kThird{2};

}  // namespace

TEST_CASE("a prompt shares the full blocks of an equal prompt of the same step") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    for (std::uint32_t id = 0; id < 2; ++id) {
      RequestSpec spec = request_of(id, {part(7, 100)}, 200);
      spec.continues_content = id == 0;
      rig.arrive(spec);
    }
    CHECK(rig.step() == "0:100 1:4");
    CHECK(rig.hits() == "0:0 1:96");
    rig.arrive(request_of(2, {part(7, 100)}, 1));
    CHECK(rig.step() == "0:1 1:1 2:4");
    while (!rig.step().empty()) {
    }
    CHECK(rig.ends() == "2:length:1 0:length:200 1:length:200");
    // The next turn repeats prompt and answer: only what does not fill a block is computed again.
    rig.arrive(request_of(3, {part(7, 300)}, 1));
    CHECK(rig.step() == "3:12");
  });
}

TEST_CASE("freed blocks queue up tail first and hits leave the queue where they stand") {
  on_each(pool_of(11), [](GoldenRig& rig) {
    GoldenDriver& driver = rig.driver();
    rig.arrive(request_of(0, {part(1, 48), part(2, 7)}));
    CHECK(rig.step() == "0:55");
    check_ids(driver.block_ids(kFirst), {1, 2, 3, 4});
    rig.arrive(request_of(1, {part(1, 48), part(3, 5)}));
    CHECK(rig.step() == "0:1 1:5");
    CHECK(rig.hits() == "1:48");
    check_ids(driver.block_ids(kSecond), {1, 2, 3, 5});
    CHECK(driver.free_blocks() == 5);
    driver.cancel(kFirst);
    driver.cancel(kSecond);
    check_ids(driver.free_ids(), {6, 7, 8, 9, 10, 4, 5, 3, 2, 1});
    rig.arrive(request_of(2, {part(1, 48), part(4, 6)}));
    CHECK(rig.step() == "2:6");
    CHECK(rig.hits() == "2:48");
    check_ids(driver.block_ids(kThird), {1, 2, 3, 6});
    CHECK(driver.free_blocks() == 6);
    driver.cancel(kThird);
    rig.arrive(request_of(3, {part(5, 160)}));
    CHECK(rig.step() == "3:160");
    check_ids(driver.block_ids(RequestId{3}), {7, 8, 9, 10, 4, 5, 6, 3, 2, 1});
  });
}

TEST_CASE("a block found under one parent is not found under another, and hits are kept from eviction") {
  on_each(pool_of(3), [](GoldenRig& rig) {
    rig.arrive(request_of(0, {part(1, 16)}, 1));
    CHECK(rig.step() == "0:16");
    rig.arrive(request_of(1, {part(2, 16)}, 1));
    CHECK(rig.step() == "1:16");
    check_ids(rig.driver().free_ids(), {1, 2});
    rig.arrive(request_of(2, {part(1, 16), part(2, 16)}));
    CHECK(rig.step() == "2:16");
    CHECK(rig.hits() == "2:16");
    check_ids(rig.driver().block_ids(kThird), {1, 2});  // 2 was evicted although 1 is older
  });
}

TEST_CASE("a fully cached prompt computes its whole last block again") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    rig.arrive(request_of(0, {part(1, 48)}, 1));
    CHECK(rig.step() == "0:48");
    rig.arrive(request_of(1, {part(1, 48)}, 1));
    CHECK(rig.step() == "1:16");
    CHECK(rig.hits() == "1:32");
    rig.arrive(request_of(2, {part(1, 49)}, 1));
    CHECK(rig.step() == "2:1");
  });
}

TEST_CASE("hits that must leave the free list count as needed blocks") {
  on_each(pool_of(10), [](GoldenRig& rig) {
    GoldenDriver& driver = rig.driver();
    rig.arrive(request_of(0, {part(1, 96)}, 1));
    CHECK(rig.step() == "0:96");
    rig.arrive(request_of(1, {part(1, 49)}));  // three cached blocks and one of its own
    CHECK(rig.step() == "1:1");
    CHECK(driver.free_blocks() == 5);
    rig.arrive(request_of(2, {part(1, 96), part(2, 48)}, 1));  // 3 new + 3 cached but free > 5
    CHECK(rig.step() == "1:1");
    CHECK(driver.free_blocks() == 5);
    driver.cancel(kSecond);
    CHECK(driver.free_blocks() == 9);  // nothing was held for the one refused
    CHECK(rig.step() == "2:48");
    CHECK(rig.hits() == "2:96");
    CHECK(rig.last().free == 0);
  });
}

TEST_CASE("the cache is reset only while nothing is held, or by force") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    GoldenDriver& driver = rig.driver();
    rig.arrive(request_of(0, {part(1, 33)}, 5));
    rig.arrive(request_of(1, {part(2, 33)}, 5));
    rig.arrive(request_of(2, {part(3, 33)}, 5));
    CHECK(rig.step() == "0:33 1:33 2:33");
    driver.reset_cache(false);
    rig.arrive(request_of(3, {part(1, 33)}, 1));
    CHECK(rig.step() == "0:1 1:1 2:1 3:1");  // refused: the cache still answers
    driver.reset_cache(true);
    CHECK(driver.used_blocks() == 0);
    CHECK(rig.step() == "0:35 1:35 2:35");  // everybody again, in the old order
    CHECK(rig.hits() == "0:0 1:0 2:0");
    CHECK(rig.preempted() == "2 1 0");
    for (std::uint32_t id = 0; id < 3; ++id) driver.cancel(RequestId{id});
    driver.reset_cache(false);
    rig.arrive(request_of(4, {part(1, 33)}, 1));
    CHECK(rig.step() == "4:33");
  });
}

TEST_CASE("a step in flight at a forced reset brings no token") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    rig.arrive(request_of(0, {part(1, 33)}, 5));
    CHECK(rig.step() == "0:33");
    CHECK(rig.plan() == "0:1");
    rig.driver().reset_cache(true);
    rig.finish(2);
    CHECK(rig.step() == "0:34");
  });
}

// The third step, in flight when the request stops, computes KV that is never confirmed.
TEST_CASE("with speculated outputs a block is shared only when its tokens are computed and back") {
  GoldenSetup setup = roomy_setup();
  setup.engine.block_size = Tokens{1};
  setup.engine.max_num_seqs = 1;
  setup.engine.in_flight = {2, true};
  on_each(setup, [](GoldenRig& rig) {
    RequestSpec spec = request_of(0, {part(1, 1)}, 5);
    spec.continues_content = true;
    rig.arrive(spec);
    CHECK(rig.plan() == "0:1");
    CHECK(rig.plan() == "0:1");
    rig.finish(1);
    CHECK(rig.plan() == "0:1");
    rig.finish(2, {kFirst});
    rig.arrive(request_of(1, {part(1, 4)}));
    CHECK(rig.plan() == "1:2");
    CHECK(rig.hits() == "1:2");
  });
}

TEST_CASE("a head refused for memory enters as soon as a decoder writes the block it lacks") {
  GoldenSetup setup = roomy_setup();
  setup.engine.num_blocks = Blocks{3};
  setup.engine.max_model_len = Tokens{32};
  GoldenScenario scenario{setup, {}, {std::chrono::milliseconds(10)}};
  RequestSpec writer = request_of(0, {part(1, 12)}, 9);
  writer.continues_content = true;
  RequestSpec reader = request_of(1, {part(1, 16), part(2, 6)}, 9);
  reader.arrival = kTimeZero + std::chrono::milliseconds(5);
  scenario.jobs = {{writer, 10, kTimeNever, kTimeNever}, {reader, 10, kTimeNever, kTimeNever}};
  for (const GoldenKind& kind : golden_kinds()) {
    INFO("on the " << kind.name);
    const GoldenRun run = run_scenario(*kind.make(setup), scenario);
    REQUIRE(run.steps.size() > 5);
    for (std::size_t i = 1; i < 4; ++i) CHECK(to_text(run.steps[i].tokens) == "0:1");
    CHECK(to_text(run.steps[4].tokens) == "0:1 1:6");
    CHECK(to_text(run.steps[4].admitted) == "1:16");
  }
}

TEST_CASE("another salt or adapter shares nothing") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    const std::uint64_t salts[] = {0, 1, 1, 2, 0};
    const std::uint16_t adapters[] = {0, 0, 0, 0, 3};
    const char* expected[] = {"0:40", "1:40", "2:8", "3:40", "4:40"};
    for (std::uint32_t id = 0; id < 5; ++id) {
      RequestSpec spec = request_of(id, {part(1, 40)}, 1);
      spec.cache_salt = salts[id];
      spec.adapter = AdapterId{adapters[id]};
      rig.arrive(spec);
      CHECK(rig.step() == expected[id]);
    }
    RequestSpec again = request_of(5, {part(1, 40)}, 1);
    again.adapter = AdapterId{3};
    rig.arrive(again);
    CHECK(rig.step() == "5:8");
  });
}

}  // namespace servetwin::test_prefix_cache
