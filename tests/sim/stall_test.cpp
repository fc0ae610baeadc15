// If one of these fails, a run that can make no progress hangs, or ends without saying who waits for what.
#include "tests/sim/hand_world.h"
#include "tests/support/catch.h"

namespace servetwin::stall_test {
namespace {

using namespace test;

// Serves at most that many events; a run that needs more hangs.
void serve_some(HandWorld& world, int most = 1000) {
  StampedEvent event;
  while (world.backend.next(event)) {
    REQUIRE(--most > 0);
    world.cluster.handle(event, world.backend);
  }
}

TEST_CASE("a request that grows past the whole pool stalls, and the run says how many blocks it needs") {
  EngineConfig config = small_engine(GENERATE(true, false), GENERATE(1, 2));
  config.full_sequence_gate = GENERATE(true, false);
  config.num_blocks = Blocks{5};
  HandWorld world(config);
  const RequestId id = world.arrive(0, 13, 30);
  serve_some(world);
  const std::vector<StalledRequest> stalled = world.cluster.stalled(10);
  REQUIRE(stalled.size() == 1);
  CHECK(stalled[0].request == id);
  CHECK(stalled[0].replica == ReplicaId{0});
  CHECK_FALSE(stalled[0].running);
  // 16 of its tokens fit; it is the seventeenth that needs a fifth block.
  CHECK(stalled[0].needs == Blocks{5});
  CHECK(stalled[0].free == Blocks{4});
  CHECK(stalled[0].holds == Blocks{0});
  CHECK(stalled[0].why == "needs blocks");
  world.replica().kv().check_all();
}

TEST_CASE("those behind a stalled head are named too, in order, as many as asked for") {
  EngineConfig config = small_engine(GENERATE(true, false));
  config.num_blocks = Blocks{5};
  HandWorld world(config);
  world.arrive(0, 13, 30);
  for (int i = 0; i < 3; ++i) world.arrive(500, 4, 2);
  serve_some(world);
  const std::vector<StalledRequest> all = world.cluster.stalled(10);
  REQUIRE(all.size() == 4);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(all[i].request == RequestId{i});
  CHECK(all[1].needs == Blocks{1});
  CHECK(all[1].why == "waits behind others");
  CHECK(world.cluster.stalled(2).size() == 2);
}

TEST_CASE("a stalled run goes on when its head goes away") {
  EngineConfig config = small_engine(GENERATE(true, false));
  config.num_blocks = Blocks{5};
  HandWorld world(config);
  const RequestId head = world.arrive(0, 13, 30);
  const RequestId behind = world.arrive(500, 4, 2);
  world.add(900, Cancelled{head, EndReason::kClient});
  serve_some(world);
  CHECK(world.cluster.unfinished() == 0);
  CHECK(world.record(behind).first_scheduled == at_ms(900));
}

TEST_CASE("who reserves more than there is never enters, and the run ends with its name") {
  EngineConfig config = small_engine(GENERATE(true, false));
  config.num_blocks = Blocks{5};
  HandWorld world(config, 1, "round_robin", 0, "conservative");
  world.arrive(0, 4, 100);
  serve_some(world);
  CHECK(world.collect.steps == 0);
  REQUIRE(world.cluster.stalled(10).size() == 1);
  CHECK(world.cluster.stalled(10)[0].why == "the admission rule keeps it out");
}

TEST_CASE("what never comes is named: the backend, a window, a replica with room") {
  const bool plain = GENERATE(true, false);
  HandWorld waiting(small_engine(plain));
  waiting.arrive(0, 4, 4, WaitsFor::kTokenised);
  waiting.arrive(0, 4, 4, WaitsFor::kRemoteKv);
  serve_some(waiting);
  REQUIRE(waiting.cluster.stalled(10).size() == 2);
  for (const StalledRequest& entry : waiting.cluster.stalled(10)) CHECK(entry.why == "waits for the backend");

  HandWorld held(small_engine(plain), 1, "late_binding");
  held.add(0, ReplicaChanged{ReplicaId{0}, ReplicaState::kDraining});
  held.arrive(0, 4, 4);
  serve_some(held);
  REQUIRE(held.cluster.stalled(10).size() == 1);
  CHECK(held.cluster.stalled(10)[0].why == "held: no replica took it");

  HandWorld closed(small_engine(plain));
  const RequestId slow = closed.arrive(0, 4, 40);
  closed.add(35, ClientWindow{slow, false});
  serve_some(closed);
  REQUIRE(closed.cluster.stalled(10).size() == 1);
  CHECK(closed.cluster.stalled(10)[0].why == "its client does not read");
}

TEST_CASE("a paused replica is named as what its requests wait for") {
  HandWorld world(small_engine(GENERATE(true, false)));
  world.arrive(0, 4, 40);
  world.add(35, Admin{ReplicaId{0}, AdminAction::kPause});
  serve_some(world);
  REQUIRE(world.cluster.stalled(10).size() == 1);
  CHECK(world.cluster.stalled(10)[0].why == "its replica is paused");
}

}  // namespace
}  // namespace servetwin::stall_test
