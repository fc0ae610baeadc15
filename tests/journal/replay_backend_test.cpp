// If these fail, a replay feeds a core that has parted from the journal, or durations are taken from the
// wrong steps.
#include "engine/journal/replay_backend.h"

#include "engine/base/error.h"
#include "engine/journal/replayed_durations.h"
#include "tests/journal/journal_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::replay_backend_test {
namespace {

constexpr ReplicaId kReplica{0};

// A journal of these lines, replayed with commands given by hand.
class Replay {
 public:
  template <class... Lines>
  explicit Replay(const Lines&... lines) : file_("replay"), reader_(written(file_, lines_text(lines...))) {}

  ReplayBackend& backend() { return backend_; }
  const std::vector<RequestSpec>& requests() const { return requests_; }
  const StampedEvent& event() const { return event_; }

  bool next() { return backend_.next(event_); }

  void start(std::uint64_t step) {
    StepPlan plan;
    plan.step = StepId{step};
    backend_.start_step(plan);
  }

 private:
  static std::string written(const ScratchFile& file, const std::string& text) {
    file.set_frames({lines_text(JournalHeader{}), text});
    return file.path();
  }

  ScratchFile file_;
  JournalReader reader_;
  std::vector<RequestSpec> requests_;
  ReplayBackend backend_{reader_, [this](const RequestSpec& request) { requests_.push_back(request); }};
  StampedEvent event_{kTimeZero, Arrived{kNoRequest}};
};

JournalEvent plan(std::int64_t ns, std::uint64_t step) {
  return event_at(ns, PlanDue{kReplica}, StepId{step});
}

JournalEvent done(std::int64_t ns, std::uint64_t step) {
  return event_at(ns, StepDone{kReplica, StepId{step}, 1});
}

std::string mismatch_of(Replay& replay) {
  CHECK_FALSE(replay.next());
  return replay.backend().mismatch().value_or("");
}

}  // namespace

TEST_CASE("rows come before their arrival and events with their stamps") {
  Replay replay(small_request(0), event_at(5, Arrived{RequestId{0}}));
  REQUIRE(replay.next());
  REQUIRE(replay.requests().size() == 1);
  CHECK(replay.requests()[0].id == RequestId{0});
  CHECK(kind_of(replay.event().event) == EventKind::kArrived);
  CHECK(replay.event().time == time_at_ns(5));
  CHECK_FALSE(replay.next());
  CHECK_FALSE(replay.backend().mismatch().has_value());
}

TEST_CASE("two steps in flight are confirmed in their order") {
  Replay replay(plan(0, 1), plan(0, 2), done(10, 1), done(20, 2));
  replay.backend().plan_at(kReplica, kTimeZero);
  REQUIRE(replay.next());
  replay.start(1);
  replay.backend().plan_at(kReplica, kTimeZero);
  REQUIRE(replay.next());
  replay.start(2);
  CHECK(replay.next());
  CHECK(replay.next());
  CHECK_FALSE(replay.next());
  CHECK_FALSE(replay.backend().mismatch().has_value());
}

TEST_CASE("a plan that comes later than asked for is live, not a mismatch") {
  Replay replay(plan(700, 1));
  replay.backend().plan_at(kReplica, time_at_ns(100));
  CHECK(replay.next());
}

TEST_CASE("each way in which commands can part from the journal is named, and no further event is given") {
  SECTION("a step that was not started") {
    Replay replay(plan(0, 1), done(10, 1));
    replay.backend().plan_at(kReplica, kTimeZero);
    REQUIRE(replay.next());
    CHECK(mismatch_of(replay).find(
              "line 2: at 0 ns, replica 0: the journal starts step 1, the replay starts none") !=
          std::string::npos);
    CHECK_FALSE(replay.next());
  }
  SECTION("a step that the journal does not start") {
    Replay replay(plan(0, 0), done(10, 1));
    replay.backend().plan_at(kReplica, kTimeZero);
    REQUIRE(replay.next());
    replay.start(1);
    CHECK(mismatch_of(replay).find("the replay starts step 1, the journal starts none") != std::string::npos);
  }
  SECTION("another step") {
    Replay replay(plan(0, 2));
    replay.backend().plan_at(kReplica, kTimeZero);
    REQUIRE(replay.next());
    replay.start(1);
    CHECK(mismatch_of(replay).find("the replay starts step 1, the journal step 2") != std::string::npos);
  }
  SECTION("a plan nobody asked for") {
    Replay replay(plan(0, 1));
    CHECK(mismatch_of(replay).find("the replay asked for no plan") != std::string::npos);
  }
  SECTION("a plan before the time asked for") {
    Replay replay(plan(5, 1));
    replay.backend().plan_at(kReplica, time_at_ns(6));
    CHECK(mismatch_of(replay).find("the journal plans before 6 ns") != std::string::npos);
  }
  SECTION("the end of another step than the oldest in flight") {
    Replay replay(plan(0, 1), done(10, 2));
    replay.backend().plan_at(kReplica, kTimeZero);
    REQUIRE(replay.next());
    replay.start(1);
    CHECK(mismatch_of(replay).find("the journal ends step 2, the replay waits for step 1") !=
          std::string::npos);
  }
}

TEST_CASE("durations count from the plan that started the step, lags from the time asked for") {
  const ScratchFile file("durations");
  JournalEvent late = plan(130, 3);
  late.late = Duration{30};
  file.set_frames(
      {lines_text(JournalHeader{}, plan(0, 1), plan(4, 2), plan(6, 0), done(10, 1), done(25, 2), late)});
  JournalReader reader(file.path());
  const std::vector<ReplayedDurations> durations = replayed_durations(reader);
  REQUIRE(durations.size() == 1);
  CHECK(durations[0].steps == std::vector<Duration>{Duration{10}, Duration{21}});
  CHECK(durations[0].plan_lags == std::vector<Duration>{Duration{0}, Duration{0}, Duration{0}, Duration{30}});
  CHECK(durations[0].step_lags == std::vector<Duration>{Duration{0}, Duration{0}, Duration{30}});
}

TEST_CASE("durations of a journal whose steps do not follow one another are refused") {
  const ScratchFile file("disorder");
  const auto read = [&](const std::string& text) {
    file.set_frames({lines_text(JournalHeader{}), text});
    JournalReader reader(file.path());
    return replayed_durations(reader);
  };
  CHECK_THROWS_WITH(read(lines_text(plan(0, 2))), Catch::Contains("step 2 starts out of order"));
  CHECK_THROWS_WITH(read(lines_text(done(0, 1))), Catch::Contains("step 1 ends out of order"));
  CHECK_THROWS_AS(read(lines_text(plan(0, 1), done(1, 1), done(2, 1))), ConfigError);
}

}  // namespace servetwin::replay_backend_test
