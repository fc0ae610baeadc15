// If these fail, the live world reaches the core in another order than the simulated one does, loses or
// repeats what clients do, or leaves something behind when they are gone.
#include "engine/live/live_backend.h"

#include <atomic>
#include <map>
#include <thread>

#include "tests/live/live_bench.h"
#include "tests/support/catch.h"

namespace servetwin::live_backend_test {
namespace {

using namespace std::chrono_literals;

std::vector<EventKind> kinds(const LiveBench& bench) {
  std::vector<EventKind> result;
  for (const StampedEvent& event : bench.log.events) result.push_back(kind_of(event.event));
  return result;
}

TEST_CASE("what waits is delivered before a plan: five submissions make one step of five") {
  LiveBench bench({});
  for (std::uint32_t id = 0; id < 5; ++id) CHECK(bench.backend().post(LiveBench::submission(id, 20, 4)));
  bench.backend().close();
  bench.serve_all();
  REQUIRE(bench.log.ends.size() == 5);
  CHECK(bench.log.plans.front().shape.new_sequences == 5);
  for (const RequestRecord& record : bench.log.ends) {
    CHECK(record.end_state == EndState::kLength);
    CHECK(record.outputs == Tokens{4});
  }
}

TEST_CASE("each event comes after the one before, in the order of events") {
  EngineConfig engine;
  engine.in_flight = {2, true};
  LiveBench bench(engine);
  for (std::uint32_t id = 0; id < 20; ++id) bench.backend().post(LiveBench::submission(id, 10 + id, 20));
  bench.backend().post(Event{Cancelled{RequestId{3}, EndReason::kClient}});
  bench.backend().close();
  bench.serve_all();
  REQUIRE(bench.log.events.size() > 60);
  for (std::size_t i = 1; i < bench.log.events.size(); ++i) {
    CAPTURE(i);
    CHECK(bench.log.events[i - 1] < bench.log.events[i]);
  }
}

// Its second request is taken while the first one's step is in flight; by then that step's result and a
// cancellation wait in the inbox, the result first.
class LateArrival final : public NoTraffic {
 public:
  Time next_arrival() override {
    if (taken_ == 0) return kTimeZero;
    return taken_ == 1 ? kTimeZero + 40ms : kTimeNever;
  }

  void take(WorkloadItem& item) override {
    item = WorkloadItem{};
    item.spec.id = RequestId{taken_};
    item.spec.arrival = next_arrival();
    item.spec.prompt = item.spec.max_tokens = Tokens{8};
    item.truth.output = Tokens{8};
    if (++taken_ < 2) return;
    release = true;
    std::this_thread::sleep_for(30ms);
    backend->post(Event{Cancelled{RequestId{0}, EndReason::kClient}});
  }

  std::atomic<bool> release{false};
  LiveBackend* backend = nullptr;

 private:
  std::uint32_t taken_ = 0;
};

TEST_CASE("arrivals and cancellations that wait are delivered before a step's result that waits") {
  LateArrival source;
  const auto hold = [&source](const OutputToken&) {
    while (!source.release) std::this_thread::sleep_for(1ms);
  };
  LiveBench bench({}, hold, &source);
  source.backend = &bench.backend();
  bench.serve_all();
  const std::vector<EventKind> order = kinds(bench);
  REQUIRE(order.size() > 5);
  CHECK(order[0] == EventKind::kArrived);
  CHECK(order[1] == EventKind::kPlanDue);
  CHECK(order[2] == EventKind::kArrived);
  CHECK(order[3] == EventKind::kCancelled);
  CHECK(order[4] == EventKind::kStepDone);
}

TEST_CASE("a full or closed inbox refuses") {
  LiveBench bench({});
  int taken = 0;
  for (std::uint32_t id = 0; id < 80; ++id)
    taken += bench.backend().post(LiveBench::submission(id, 5, 2)) ? 1 : 0;
  CHECK(taken == 64);
  bench.backend().close();
  bench.serve_all();
  CHECK(bench.log.ends.size() == 64);
  CHECK_FALSE(bench.backend().post(LiveBench::submission(99, 5, 2)));
}

TEST_CASE("stop ids and EOS end a submission as stopped, at the token the model chose") {
  std::vector<TokenId> answer;
  {
    LiveBench bench({}, [&](const OutputToken& token) { answer.push_back(token.sampled.token); });
    bench.backend().post(LiveBench::submission(0, 12, 30));
    bench.backend().close();
    bench.serve_all();
  }
  REQUIRE(answer.size() == 30);
  const TokenId stop = answer[9];
  const auto first = static_cast<std::size_t>(std::find(answer.begin(), answer.end(), stop) - answer.begin());
  for (const InFlight in_flight : {InFlight{1, false}, InFlight{2, true}}) {
    EngineConfig engine;
    engine.in_flight = in_flight;
    std::vector<TokenId> cut;
    LiveBench bench(engine, [&](const OutputToken& token) { cut.push_back(token.sampled.token); });
    Submission submission = LiveBench::submission(0, 12, 30);
    submission.sampling.eos_ids = {stop};
    bench.backend().post(std::move(submission));
    bench.backend().close();
    bench.serve_all();
    CHECK(cut ==
          std::vector<TokenId>(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(first) + 1));
    CHECK(bench.log.ends.front().end_state == EndState::kStop);
    CHECK(bench.log.ends.front().outputs.value == static_cast<std::int64_t>(cut.size()));
  }
}

// By request; a token that is sampled again must be the same.
using Answers = std::map<RequestId, std::map<std::int64_t, TokenId>>;

Answers answers_with_resets(bool resets, InFlight in_flight) {
  Answers answers;
  bool consistent = true;
  LiveBackend* backend = nullptr;
  int tokens = 0;
  EngineConfig engine;
  engine.in_flight = in_flight;
  LiveBench bench(engine, [&](const OutputToken& token) {
    const auto [at, is_new] = answers[token.request].emplace(token.index, token.sampled.token);
    consistent = consistent && at->second == token.sampled.token;
    if (resets && ++tokens % 17 == 0)
      backend->post(Event{Admin{ReplicaId{0}, AdminAction::kResetCacheForced}});
  });
  backend = &bench.backend();
  for (std::uint32_t id = 0; id < 6; ++id) {
    Submission one = LiveBench::submission(id, 20 + id, 25);
    one.sampling.temperature = id % 2 == 0 ? 0.0F : 1.0F;
    bench.backend().post(std::move(one));
  }
  std::thread closer([&] {
    std::this_thread::sleep_for(50ms);
    bench.backend().close();
  });
  bench.serve_all();
  closer.join();
  CHECK(consistent);
  CHECK(bench.log.ends.size() == 6);
  std::int64_t preemptions = 0;
  for (const RequestRecord& record : bench.log.ends) preemptions += record.preemptions;
  CHECK((preemptions > 0) == resets);
  return answers;
}

TEST_CASE("a forced cache reset discards what is in flight and changes no answer") {
  for (const InFlight in_flight : {InFlight{1, false}, InFlight{2, true}}) {
    CHECK(answers_with_resets(true, in_flight) == answers_with_resets(false, in_flight));
  }
}

TEST_CASE("after a crowd of clients that come and go, nothing is held and nobody was forgotten") {
  for (const InFlight in_flight : {InFlight{1, false}, InFlight{2, true}}) {
    EngineConfig engine;
    engine.in_flight = in_flight;
    engine.num_blocks = Blocks{24};
    LiveBench bench(engine);
    std::thread clients([&] {
      for (std::uint32_t id = 0; id < 400; ++id) {
        while (!bench.backend().post(LiveBench::submission(id, 3 + id % 90, 1 + id % 40))) {
          std::this_thread::sleep_for(100us);
        }
        const RequestId gone{id - id % 7};
        if (id % 3 == 0) bench.backend().post(Event{Cancelled{gone, EndReason::kClient}});
      }
      bench.backend().close();
    });
    bench.serve_all();
    clients.join();
    CHECK(bench.log.ends.size() == 400);
    CHECK(bench.cluster().unfinished() == 0);
    CHECK(bench.cluster().at(ReplicaId{0}).kv().used() == Blocks{0});
    bench.cluster().at(ReplicaId{0}).kv().check_all();
  }
}

}  // namespace
}  // namespace servetwin::live_backend_test
