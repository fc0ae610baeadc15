// Victims whose KV goes to the host. If one fails, the twin computes again what it had kept, copies what it
// need not, or loses track of the host's room.
#include "tests/support/golden_rig.h"

namespace servetwin::test_swap {

namespace {

// Four usable blocks of 16: two requests that grow past two blocks each cannot both stay.
GoldenSetup swapping_setup(std::int64_t host_blocks, bool caching) {
  GoldenSetup setup = roomy_setup();
  setup.engine.prefix_caching = caching;
  setup.engine.num_blocks = Blocks{5};
  setup.engine.host_blocks = Blocks{host_blocks};
  return setup;
}

// Both hold two full blocks; the third block of request 0 takes one from request 1.
void fill(GoldenRig& rig) {
  rig.arrive(request(0, 31, 4));
  rig.arrive(request(1, 32));
  CHECK(rig.step() == "0:31 1:32");
  CHECK(rig.plan() == "0:1");
  CHECK(rig.last().free == 2);
}

}  // namespace

TEST_CASE("a victim that was swapped out goes on where it stood") {
  on_each(swapping_setup(10, false), [](GoldenRig& rig) {
    fill(rig);
    CHECK(rig.preempted() == "1");
    CHECK(to_text(rig.last().swapped_out) == "1:32");
    CHECK(rig.last().swap_blocks == 2);
    rig.finish(2);
    CHECK(rig.step() == "0:1");
    CHECK(rig.step({RequestId{0}}) == "0:1");
    CHECK(rig.step() == "1:1");
    CHECK(to_text(rig.last().swapped_in) == "1:32");
    CHECK(rig.last().swap_blocks == 2);
    CHECK(rig.last().used == 3);
  });
}

TEST_CASE("without room on the host a victim is computed again") {
  on_each(swapping_setup(1, false), [](GoldenRig& rig) {
    fill(rig);
    CHECK(rig.preempted() == "1");
    CHECK(rig.last().swapped_out.empty());
    rig.finish(2);
    CHECK(rig.step() == "0:1");
    CHECK(rig.step({RequestId{0}}) == "0:1");
    CHECK(rig.step() == "1:33");
  });
}

TEST_CASE("blocks that the cache still has are not copied back") {
  on_each(swapping_setup(10, true), [](GoldenRig& rig) {
    fill(rig);
    CHECK(to_text(rig.last().swapped_out) == "1:32");
    rig.finish(2);
    CHECK(rig.step() == "0:1");
    CHECK(rig.step({RequestId{0}}) == "0:1");
    // The third block of request 0 was the last block of request 1, so its first is a hit.
    CHECK(rig.step() == "1:1");
    CHECK(rig.hits() == "1:16");
    CHECK(to_text(rig.last().swapped_in) == "1:16");
    CHECK(rig.last().swap_blocks == 1);
  });
}

TEST_CASE("who leaves while swapped out makes room on the host, and so does a forced reset") {
  on_each(swapping_setup(2, false), [](GoldenRig& rig) {
    for (std::uint32_t round = 0; round < 2; ++round) {
      rig.arrive(request(3 * round, 31, 4));
      rig.arrive(request(3 * round + 1, 32));
      rig.step();
      rig.plan();
      CHECK(to_text(rig.last().swapped_out) == std::to_string(3 * round + 1) + ":32");
      rig.driver().cancel(RequestId{3 * round + 1});
      rig.driver().cancel(RequestId{3 * round});
      rig.finish(2 * round + 2);
    }
    rig.arrive(request(6, 31, 4));
    rig.arrive(request(7, 32));
    rig.step();
    rig.plan();
    CHECK(to_text(rig.last().swapped_out) == "7:32");
    rig.finish(6);
    rig.driver().reset_cache(true);
    CHECK(rig.step() == "6:33");  // request 7 needs all three blocks again
    CHECK(rig.step() == "6:1");
    CHECK(rig.step() == "7:33");
    CHECK(rig.last().swapped_in.empty());
  });
}

}  // namespace servetwin::test_swap
