// If one of these fails, a request that leaves early is lost, counted twice, or leaves KV blocks behind.
#include "tests/sim/hand_world.h"
#include "tests/support/catch.h"

namespace servetwin::lifecycle_test {
namespace {

using namespace test;

constexpr ReplicaId kFirst{0};

// All that arrived ended exactly once, and nothing is held any more.
void check_drained(HandWorld& world) {
  CHECK(world.cluster.unfinished() == 0);
  CHECK(world.collect.records.size() == world.count);
  CHECK(world.replica().kv().used() == Blocks{0});
  CHECK_FALSE(world.replica().has_work());
  CHECK(world.replica().idle());
  world.replica().kv().check_all();
}

TEST_CASE("cancelling twice, or after the end, changes nothing") {
  HandWorld world(small_engine(GENERATE(true, false), GENERATE(1, 2)));
  const RequestId early = world.arrive(0, 20, 50);
  const RequestId done = world.arrive(0, 4, 2);
  world.add(35, Cancelled{early, EndReason::kClient});
  world.add(35, Cancelled{early, EndReason::kDeadline});
  world.add(36, Cancelled{early, EndReason::kClient});
  world.add(500, Cancelled{done, EndReason::kClient});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(early).end_state == EndState::kCancelled);
  CHECK(world.record(early).end == at_ms(35));
  CHECK(world.record(early).outputs == Tokens{3});
  CHECK(world.record(done).end_state == EndState::kLength);
}

TEST_CASE("a client that goes away at the stamp of the last token is cancelled, without that token") {
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId id = world.arrive(0, 4, 3);
  world.add(30, Cancelled{id, EndReason::kClient});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(id).end_state == EndState::kCancelled);
  CHECK(world.record(id).outputs == Tokens{2});
}

TEST_CASE("a stop announced for a step at whose stamp the client goes away is not taken") {
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId id = world.arrive(0, 4, 30);
  world.add(40, SequenceOut{id, StepId{4}, EndState::kStop});
  world.add(40, Cancelled{id, EndReason::kClient});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(id).end_state == EndState::kCancelled);
  CHECK(world.record(id).outputs == Tokens{3});
}

TEST_CASE("an announced stop ends its request with that step's token, a failure names the backend") {
  const EndState as = GENERATE(EndState::kStop, EndState::kFailed);
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId id = world.arrive(0, 4, 30);
  const RequestId other = world.arrive(0, 4, 6);
  world.add(40, SequenceOut{id, StepId{4}, as});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(id).end_state == as);
  CHECK(world.record(id).outputs == Tokens{4});
  CHECK(world.record(id).end == at_ms(40));
  CHECK(world.record(id).end_reason == (as == EndState::kFailed ? EndReason::kBackend : EndReason::kNone));
  CHECK(world.record(other).outputs == Tokens{6});
}

TEST_CASE("each time limit ends a request as timed out, under its own reason") {
  const EndReason why = GENERATE(EndReason::kDeadline, EndReason::kQueueTimeout, EndReason::kTtftTimeout);
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId id = world.arrive(0, 150, 30);
  world.add(15, Cancelled{id, why});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(id).end_state == EndState::kTimedOut);
  CHECK(world.record(id).end_reason == why);
}

TEST_CASE("limits that were met in time end nobody") {
  WorkloadItem item;
  item.spec.id = RequestId{0};
  item.spec.prompt = Tokens{8};
  item.spec.max_tokens = Tokens{20};
  item.truth.output = Tokens{20};
  item.truth.queue_timeout = Duration{1};
  item.truth.ttft_timeout = std::chrono::milliseconds(50);
  item.truth.deadline = std::chrono::seconds(10);
  const RunResult result = run({item}, small_engine(false), GENERATE(true, false));
  REQUIRE(result.collect.records.size() == 1);
  CHECK(result.collect.records[0].end_state == EndState::kLength);
  CHECK(result.collect.records[0].outputs == Tokens{20});
}

TEST_CASE("a queue timeout and a deadline of one stamp end the request once, by the earlier rule") {
  std::vector<WorkloadItem> items(2);
  for (std::uint32_t id = 0; id < 2; ++id) {
    items[id].spec.id = RequestId{id};
    items[id].spec.prompt = Tokens{60};
    items[id].spec.max_tokens = items[id].truth.output = Tokens{100};
  }
  items[1].truth.deadline = items[1].truth.queue_timeout = std::chrono::milliseconds(100);
  EngineConfig config = small_engine(false);
  config.max_num_seqs = 1;
  const RunResult result = run(items, config, GENERATE(true, false));
  REQUIRE(result.collect.records.size() == 2);
  CHECK(result.collect.records[0].id == RequestId{1});
  CHECK(result.collect.records[0].end_reason == EndReason::kDeadline);
  CHECK(result.collect.records[0].first_scheduled == kTimeNever);
}

TEST_CASE("a decoder whose client does not read stands still and goes on when it reads") {
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId slow = world.arrive(0, 4, 10);
  const RequestId other = world.arrive(0, 4, 10);
  world.add(32, ClientWindow{slow, false});
  world.add(33, ClientWindow{slow, false});
  world.add(71, ClientWindow{slow, true});
  world.serve_all();
  check_drained(world);
  // The step under way at 32 is still delivered; those of 40 to 80 pass it by.
  CHECK(world.record(slow).end == at_ms(140));
  CHECK(world.record(other).end == at_ms(100));
}

TEST_CASE("a waiting request whose client does not read is passed by") {
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId held = world.arrive(1, 70, 4);
  world.arrive(0, 64, 4);
  world.arrive(2, 8, 4);
  world.add(5, ClientWindow{held, false});
  world.add(300, ClientWindow{held, true});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(held).first_scheduled == at_ms(300));
  CHECK(world.record(RequestId{2}).end < at_ms(300));
}

TEST_CASE("a paused replica starts no step, keeps what it holds, and goes on where it was") {
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId running = world.arrive(0, 4, 10);
  const RequestId late = world.arrive(50, 4, 2);
  world.add(35, Admin{kFirst, AdminAction::kPause});
  world.add(200, Admin{kFirst, AdminAction::kResume});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(late).first_scheduled == at_ms(200));
  CHECK(world.record(running).end == at_ms(260));
  CHECK(world.record(running).preemptions == 0);
}

TEST_CASE("a plain cache reset does nothing while blocks are held; a forced one makes everyone start again") {
  const bool plain = GENERATE(true, false);
  HandWorld kept(small_engine(plain));
  const RequestId a = kept.arrive(0, 20, 10);
  kept.add(35, Admin{kFirst, AdminAction::kResetCache});
  kept.serve_all();
  check_drained(kept);
  CHECK(kept.record(a).end == at_ms(100));

  HandWorld forced(small_engine(plain));
  const RequestId b = forced.arrive(0, 20, 10);
  const RequestId c = forced.arrive(0, 20, 10);
  forced.add(35, Admin{kFirst, AdminAction::kResetCacheForced});
  forced.serve_all();
  check_drained(forced);
  for (const RequestId id : {b, c}) {
    CHECK(forced.record(id).preemptions == 1);
    CHECK(forced.record(id).outputs == Tokens{10});
    CHECK(forced.record(id).end == at_ms(110));  // the step under way was for nothing
  }
}

TEST_CASE("a draining replica finishes what it has and gets nothing new") {
  const bool by_admin = GENERATE(true, false);
  HandWorld world(small_engine(false), 2, "least_outstanding");
  const RequestId before = world.arrive(0, 4, 20);
  world.add(10, by_admin ? Event{Admin{kFirst, AdminAction::kDrain}}
                         : Event{ReplicaChanged{kFirst, ReplicaState::kDraining}});
  for (int i = 0; i < 5; ++i) world.arrive(20, 4, 5);
  world.add(60, ReplicaChanged{kFirst, ReplicaState::kUp});
  const RequestId after = world.arrive(70, 4, 5);
  world.serve_all();
  CHECK(world.cluster.unfinished() == 0);
  CHECK(world.record(before).replica == kFirst);
  CHECK(world.record(before).end_state == EndState::kLength);
  for (std::uint32_t id = 1; id <= 5; ++id) CHECK(world.record(RequestId{id}).replica == ReplicaId{1});
  CHECK(world.record(after).replica == kFirst);
}

TEST_CASE("a batching delay lets those of the delay join the first step") {
  EngineConfig config = small_engine(GENERATE(true, false));
  config.batching_delay = std::chrono::milliseconds(5);
  HandWorld world(config);
  world.arrive(0, 4, 2);
  world.arrive(3, 4, 2);
  world.arrive(5, 4, 2);
  world.serve_all();
  check_drained(world);
  for (const RequestRecord& record : world.collect.records) {
    CHECK(record.first_scheduled == at_ms(5));
    CHECK(record.end == at_ms(30));  // the second step is delayed too
  }
}

TEST_CASE("a full queue turns requests away: max_queued counts those waiting, not those running") {
  EngineConfig config = small_engine(GENERATE(true, false));
  config.max_num_seqs = 1;
  config.max_queued = 2;
  HandWorld world(config);
  for (int i = 0; i < 5; ++i) world.arrive(i, 4, 3);
  world.serve_all();
  check_drained(world);
  for (std::uint32_t id = 0; id < 5; ++id) {
    const RequestRecord& record = world.record(RequestId{id});
    CHECK(record.end_state == (id < 3 ? EndState::kLength : EndState::kRejected));
    if (id >= 3) CHECK(record.end_reason == EndReason::kQueueFull);
  }
}

TEST_CASE("a full place in front of the router turns requests away") {
  EngineConfig config = small_engine(GENERATE(true, false));
  config.max_num_seqs = 1;
  HandWorld world(config, 1, "late_binding", 1);
  for (int i = 0; i < 4; ++i) world.arrive(i, 4, 3);
  world.serve_all();
  check_drained(world);
  CHECK(world.record(RequestId{1}).end_state == EndState::kLength);
  for (const std::uint32_t id : {2U, 3U}) {
    CHECK(world.record(RequestId{id}).end_reason == EndReason::kQueueFull);
    CHECK(world.record(RequestId{id}).replica == kNoReplica);
  }
}

TEST_CASE("what a request waits for comes, or fails it") {
  HandWorld world(small_engine(GENERATE(true, false)));
  const RequestId both = world.arrive(0, 4, 3, WaitsFor::kTokenised | WaitsFor::kGrammar);
  const RequestId bad = world.arrive(0, 4, 3, WaitsFor::kAdapter);
  world.add(20, Ready{both, WaitsFor::kTokenised, true});
  world.add(50, Ready{both, WaitsFor::kGrammar, true});
  world.add(30, Ready{bad, WaitsFor::kAdapter, false});
  world.serve_all();
  check_drained(world);
  CHECK(world.record(both).ready == at_ms(20));
  CHECK(world.record(both).first_scheduled == at_ms(50));
  CHECK(world.record(bad).end_state == EndState::kFailed);
  CHECK(world.record(bad).end == at_ms(30));
}

}  // namespace
}  // namespace servetwin::lifecycle_test
