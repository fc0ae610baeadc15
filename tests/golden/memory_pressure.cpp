// Who enters, who leaves and in which order when priorities or free blocks decide. If one fails, the twin
// preempts or admits somebody whom vLLM V1 would not.
#include <numeric>

#include "tests/support/golden_rig.h"

namespace servetwin::test_memory_pressure {

namespace {

RequestSpec ranked(std::uint32_t id,
                   std::int32_t priority,
                   std::int64_t arrival_ns = 1,
                   std::int64_t prompt = 10) {
  RequestSpec spec = request(id, prompt);
  spec.priority = priority;
  spec.arrival = time_at_ns(arrival_ns);
  return spec;
}

GoldenSetup priority_setup() {
  GoldenSetup setup = roomy_setup();
  setup.by_priority = true;
  return setup;
}

// Eight usable blocks of 16 and a budget of 32: one decoding prompt of 64 tokens, one waiting of 96.
GoldenSetup thrashing_setup(bool gate) {
  GoldenSetup setup = roomy_setup();
  setup.engine.prefix_caching = false;
  setup.engine.num_blocks = Blocks{9};
  setup.engine.max_num_batched_tokens = Tokens{32};
  setup.engine.full_sequence_gate = gate;
  return setup;
}

}  // namespace

TEST_CASE("smaller priority numbers enter first") {
  on_each(priority_setup(), [](GoldenRig& rig) {
    rig.driver().advance_to(time_at_ns(10));
    rig.arrive(ranked(0, 2));
    rig.arrive(ranked(1, 0));
    rig.arrive(ranked(2, 1));
    CHECK(rig.step() == "1:10 2:10 0:10");
  });
}

TEST_CASE("equal priorities enter by arrival, whatever order they were told in") {
  on_each(priority_setup(), [](GoldenRig& rig) {
    rig.driver().advance_to(time_at_ns(10));
    rig.arrive(ranked(0, 0, 3));
    rig.arrive(ranked(1, 0, 1));
    rig.arrive(ranked(2, 0, 2));
    CHECK(rig.step() == "1:10 2:10 0:10");
  });
}

TEST_CASE("a better priority that arrives does not push anybody out") {
  GoldenSetup setup = priority_setup();
  setup.engine.max_num_seqs = 2;
  on_each(setup, [](GoldenRig& rig) {
    const std::int32_t priorities[] = {3, 1, 2, 0};
    rig.arrive(ranked(0, priorities[0]));
    rig.arrive(ranked(1, priorities[1]));
    CHECK(rig.step() == "1:10 0:10");
    rig.arrive(ranked(2, priorities[2]));
    rig.arrive(ranked(3, priorities[3]));
    CHECK(rig.step() == "1:1 0:1");
    rig.driver().cancel(RequestId{0});
    rig.driver().cancel(RequestId{1});
    CHECK(rig.step() == "3:10 2:10");
  });
}

TEST_CASE("a victim that was already scheduled gives its tokens and blocks back") {
  GoldenSetup setup = priority_setup();
  setup.engine.num_blocks = Blocks{6};
  setup.engine.max_num_batched_tokens = Tokens{200};
  setup.engine.max_num_seqs = 3;
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(ranked(0, 5, 1, 32));
    CHECK(rig.step() == "0:32");
    rig.arrive(ranked(1, 0, 2, 32));
    CHECK(rig.step() == "0:1 1:32");
    CHECK(rig.last().free == 0);
    CHECK(rig.plan() == "1:1");
    CHECK(rig.preempted() == "0");
    CHECK(rig.last().free == 2);
  });
}

// A cursor that counts positions would skip the request behind a victim that stood before it without being
// scheduled.
TEST_CASE("after a victim before the cursor left nobody is passed over") {
  GoldenSetup setup = priority_setup();
  setup.engine.num_blocks = Blocks{6};
  setup.engine.in_flight.depth = 2;
  setup.engine.prefix_caching = false;
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(ranked(0, 9, 1, 31));
    CHECK(rig.step() == "0:31");
    CHECK(rig.plan() == "0:1");
    rig.arrive(ranked(1, 0, 2, 16));
    rig.arrive(ranked(2, 1, 3, 15));
    CHECK(rig.plan() == "1:16 2:15");
    rig.finish(2);
    CHECK(rig.plan() == "0:1");
    CHECK(rig.last().free == 0);
    rig.finish(3);
    CHECK(rig.plan() == "1:1 2:1");  // request 0 is in flight, loses its blocks, and request 2 still advances
    CHECK(rig.preempted() == "0");
    CHECK(rig.last().free == 2);
    const auto& held = rig.last().held;
    CHECK(std::accumulate(held.begin(), held.end(), std::int64_t{0}) == 1);  // one reason each
    CHECK(held[static_cast<std::size_t>(HeldReason::kPreempted)] == 1);
  });
}

// The head of the running list is its own victim, which ends the loop with nothing scheduled.
TEST_CASE("a plan that only preempts is followed by another at once") {
  GoldenSetup setup = priority_setup();
  setup.engine.num_blocks = Blocks{3};
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(ranked(0, 1, 1, 15));
    CHECK(rig.step() == "0:15");
    rig.arrive(ranked(1, 0, 2, 15));
    CHECK(rig.step() == "0:1 1:15");
    CHECK(rig.last().free == 0);
    CHECK(rig.plan() == "1:1");
    CHECK(rig.preempted() == "0");
    CHECK(rig.last().free == 1);
  });
}

TEST_CASE("without the full-sequence gate a prompt enters and is preempted in turn") {
  on_each(thrashing_setup(false), [](GoldenRig& rig) {
    rig.arrive(request(0, 64));
    rig.arrive(request(1, 96));
    CHECK(rig.step() == "0:32");
    CHECK(rig.step() == "0:32");
    for (int round = 0; round < 6; ++round) {
      CHECK(rig.step() == "0:1 1:31");
      CHECK(rig.hits() == "1:0");
      CHECK(rig.step() == "0:1");
      CHECK(rig.preempted() == "1");
    }
  });
}

TEST_CASE("the full-sequence gate keeps a prompt out until all of it fits") {
  on_each(thrashing_setup(true), [](GoldenRig& rig) {
    rig.arrive(request(0, 64));
    rig.arrive(request(1, 96));
    CHECK(rig.step() == "0:32");
    CHECK(rig.step() == "0:32");
    for (int round = 0; round < 10; ++round) CHECK(rig.step() == "0:1");
    CHECK(rig.step({RequestId{0}}) == "0:1");
    CHECK(rig.step() == "1:32");
  });
}

TEST_CASE("a watermark keeps blocks free only while something else runs") {
  GoldenSetup setup = roomy_setup();
  setup.engine.num_blocks = Blocks{11};
  setup.engine.watermark = 0.3;  // three blocks
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(request(0, 128));  // eight of ten blocks, alone
    CHECK(rig.step() == "0:128");
    rig.driver().cancel(RequestId{0});
    rig.arrive(request(1, 48));
    rig.arrive(request(2, 80));
    CHECK(rig.step() == "1:48");  // 5 + 3 > 7
    CHECK(rig.last().held[static_cast<std::size_t>(HeldReason::kWatermark)] == 1);
    rig.driver().cancel(RequestId{2});
    rig.arrive(request(3, 40));
    CHECK(rig.step() == "1:1 3:40");
  });
}

TEST_CASE("the watermark is a share of the pool with its null block, rounded down") {
  for (const std::int64_t pool : {19, 20}) {  // 1.9 and 2 blocks
    GoldenSetup setup = roomy_setup();
    setup.engine.num_blocks = Blocks{pool};
    setup.engine.watermark = 0.1;
    on_each(setup, [pool](GoldenRig& rig) {
      rig.arrive(request(0, 16));
      CHECK(rig.step() == "0:16");
      rig.arrive(request(1, 16 * (pool - 4)));  // leaves one block free
      CHECK(rig.step() == (pool == 19 ? "0:1 1:240" : "0:1"));
    });
  }
}

}  // namespace servetwin::test_memory_pressure
