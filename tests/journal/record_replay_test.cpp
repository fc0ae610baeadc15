// If these fail, a recorded run does not replay to the same decisions, or a journal that was changed is not
// noticed.
#include <map>
#include <set>

#include "engine/base/registry.h"
#include "engine/journal/first_difference.h"
#include "engine/journal/replay_backend.h"
#include "engine/serving/preset.h"
#include "tests/journal/journal_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::record_replay_test {
namespace {

struct Setup {
  const char* name = "";
  InFlight in_flight;
  bool plain_loop = true;
  int replicas = 1;
};

const Setup kSetups[] = {{"plain loop", {1, false}, true, 1},
                         {"two steps in flight", {2, true}, true, 2},
                         {"two steps in flight, outputs awaited", {2, false}, true, 1},
                         {"shortcut", {1, false}, false, 2}};

std::unique_ptr<Cluster> make_cluster(const Setup& setup, std::vector<Observer*> observers) {
  EngineConfig engine;
  engine.max_num_batched_tokens = Tokens{256};
  engine.max_num_seqs = 12;
  engine.max_model_len = Tokens{1024};
  engine.num_blocks = Blocks{60};  // too few for everyone: some are preempted
  engine.in_flight = setup.in_flight;
  engine.plain_loop = setup.plain_loop;
  return std::make_unique<Cluster>(
      ClusterConfig{std::vector<EngineConfig>(static_cast<std::size_t>(setup.replicas), engine), 0},
      [] { return make_rules(RuleNames{}); }, Registry<Router>::instance().make("round_robin", ConfigNode{}),
      std::move(observers));
}

// A small world: requests of mixed sizes, some cancelled, some that stop early; durations follow from the
// step's shape.
class SmallWorld final : public Backend {
 public:
  SmallWorld(Cluster& cluster, JournalWriter& writer, bool stops) : cluster_(cluster), stops_(stops) {
    for (std::uint32_t i = 0; i < 80; ++i) {
      RequestSpec request;
      request.id = RequestId{i};
      request.arrival = time_at_ns(i / 4 * 40'000);
      request.prompt = Tokens{20 + (i * 37) % 180};
      request.max_tokens = Tokens{5 + (i * 13) % 90};
      request.content = {{i % 3, Tokens{16}}, {100 + i, request.prompt - Tokens{16}}};
      cluster.add_request(request);
      writer.add_request(request);
      events_.insert({request.arrival, Arrived{request.id}});
      if (i % 7 == 3)
        events_.insert({request.arrival + Duration{150'000}, Cancelled{request.id, EndReason::kClient}});
    }
  }

  bool next(StampedEvent& out) override {
    if (events_.empty()) return false;
    out = take();
    while (const auto* done = std::get_if<StepDone>(&out.event)) {
      const ReplicaId replica = done->replica;
      if (!cluster_.can_advance(replica) || (!events_.empty() && events_.begin()->time <= out.time)) break;
      const StepPlan& plan = cluster_.advance(replica, out.time);
      events_.insert({out.time + duration(plan), StepDone{replica, plan.step, done->ran + 1}});
      out = take();
    }
    return true;
  }

  void start_step(const StepPlan& plan) override {
    Time& free = device_free_[plan.replica];
    const Time end = std::max(free, plan.time) + duration(plan);
    free = end;
    events_.insert({end, StepDone{plan.replica, plan.step, 1}});
    if (!stops_) return;
    for (const StepRow& row : plan.rows) {
      if (row.sampled && ++outputs_[row.request] == 20 && raw(row.request) % 5 == 0) {
        events_.insert({end, SequenceOut{row.request, plan.step, EndState::kStop}});
      }
    }
  }

  void plan_at(ReplicaId replica, Time when) override { events_.insert({when, PlanDue{replica}}); }
  void end_request(const RequestRecord& record) override {
    ++ends_[record.end_state];
    preemptions_ += record.preemptions;
  }

  int ends(EndState state) { return ends_[state]; }
  int preemptions() const { return preemptions_; }

 private:
  static Duration duration(const StepPlan& plan) {
    return Duration{2'000 + 37 * plan.shape.tokens + plan.shape.decode_context / 16};
  }

  StampedEvent take() { return events_.extract(events_.begin()).value(); }

  Cluster& cluster_;
  bool stops_;
  std::set<StampedEvent> events_;
  std::map<ReplicaId, Time> device_free_;
  std::map<RequestId, int> outputs_;
  std::map<EndState, int> ends_;
  int preemptions_ = 0;
};

struct Digests {
  std::uint64_t decisions = 0;
  std::uint64_t timeline = 0;

  friend bool operator==(const Digests&, const Digests&) = default;
};

Digests digests_of(const Cluster& cluster) { return {cluster.decisions_digest(), cluster.timeline_digest()}; }

// Runs the small world and leaves its journal in the file.
Digests record(const Setup& setup, const ScratchFile& file) {
  JournalHeader header;
  header.replicas = static_cast<std::uint32_t>(setup.replicas);
  JournalWriter writer(file.path(), header);
  const auto cluster = make_cluster(setup, {&writer});
  SmallWorld world(*cluster, writer, setup.plain_loop);
  serve(*cluster, world);
  CHECK(cluster->unfinished() == 0);
  CHECK(world.preemptions() > 0);
  CHECK(world.ends(EndState::kCancelled) > 0);
  CHECK((world.ends(EndState::kStop) > 0) == setup.plain_loop);
  const Digests digests = digests_of(*cluster);
  writer.close({.complete = true, .events = 0, .decisions = digests.decisions, .timeline = digests.timeline});
  return digests;
}

// A journal, its core and its decisions as it replays.
class Replay {
 public:
  Replay(const Setup& setup, const ScratchFile& file)
      : reader_(file.path()),
        cluster_(make_cluster(setup, {&log_})),
        backend_(reader_, [this](const RequestSpec& request) { cluster_->add_request(request); }),
        decisions_(*cluster_, backend_, log_) {}

  void run() { serve(*cluster_, backend_); }
  DecisionSource& decisions() { return decisions_; }
  const JournalReader& reader() const { return reader_; }
  const ReplayBackend& backend() const { return backend_; }
  Digests digests() const { return digests_of(*cluster_); }

 private:
  JournalReader reader_;
  DecisionLog log_;
  std::unique_ptr<Cluster> cluster_;
  ReplayBackend backend_;
  RunDecisions decisions_;
};

std::vector<JournalEntry> entries_of(const ScratchFile& file) {
  JournalReader reader(file.path());
  std::vector<JournalEntry> entries;
  JournalEntry entry;
  while (reader.next(entry)) entries.push_back(entry);
  return entries;
}

void write_entries(const ScratchFile& file, const std::vector<JournalEntry>& entries) {
  std::string text;
  for (const JournalEntry& entry : entries)
    std::visit([&](const auto& line) { append_line(text, line); }, entry);
  file.set_frames({lines_text(JournalHeader{}), text});
}

// The first event of the type, not before `from`.
template <class Kind>
std::size_t find_event(const std::vector<JournalEntry>& entries, std::size_t from = 0) {
  for (std::size_t i = from; i < entries.size(); ++i) {
    const auto* event = std::get_if<JournalEvent>(&entries[i]);
    if (event != nullptr && std::holds_alternative<Kind>(event->stamped.event)) return i;
  }
  FAIL("no such event");
  return 0;
}

}  // namespace

TEST_CASE("a recorded run replays to both digests of its footer") {
  for (const Setup& setup : kSetups) {
    INFO(setup.name);
    const ScratchFile file("parity");
    const Digests recorded = record(setup, file);
    Replay replay(setup, file);
    replay.run();
    INFO(replay.backend().mismatch().value_or(""));
    CHECK_FALSE(replay.backend().mismatch().has_value());
    REQUIRE(replay.reader().complete());
    CHECK(replay.digests() == recorded);
    CHECK(replay.reader().footer()->timeline == recorded.timeline);
  }
}

TEST_CASE("a run recorded with the shortcut has the journal of the same run without it, replica by replica") {
  Setup setup = kSetups[3];
  setup.replicas = 1;
  const ScratchFile with("shortcut_on");
  const ScratchFile without("shortcut_off");
  record(setup, with);
  setup.plain_loop = true;
  JournalHeader header;
  JournalWriter writer(without.path(), header);
  const auto cluster = make_cluster(setup, {&writer});
  SmallWorld world(*cluster, writer, false);
  serve(*cluster, world);
  writer.close({});
  JournalReader reader_with(with.path());
  JournalReader reader_without(without.path());
  CHECK(read_text(reader_with) == read_text(reader_without));
}

TEST_CASE("two replays of one journal have no difference") {
  const ScratchFile file("self");
  record(kSetups[1], file);
  Replay a(kSetups[1], file);
  Replay b(kSetups[1], file);
  const DecisionComparison comparison = first_difference(a.decisions(), b.decisions());
  CHECK_FALSE(comparison.first.has_value());
  CHECK(comparison.steps > 100);
}

TEST_CASE("one event taken out of a journal: the difference is the next step that was planned") {
  const ScratchFile file("original");
  const ScratchFile changed_file("changed");
  record(kSetups[0], file);
  Replay whole(kSetups[0], file);
  DecisionRecord record_with_cancel;
  while (record_with_cancel.text.find("ended: cancelled") == std::string::npos) {
    REQUIRE(whole.decisions().next(record_with_cancel));
  }
  const StepId expected = record_with_cancel.step;
  std::vector<JournalEntry> entries = entries_of(file);
  const auto is_that_cancel = [&](const JournalEntry& entry) {
    const auto* event = std::get_if<JournalEvent>(&entry);
    const auto* cancelled = event == nullptr ? nullptr : std::get_if<Cancelled>(&event->stamped.event);
    return cancelled != nullptr &&
           record_with_cancel.text.find("request " + std::to_string(raw(cancelled->request)) +
                                        " ended: cancelled") != std::string::npos;
  };
  REQUIRE(std::erase_if(entries, is_that_cancel) == 1);
  write_entries(changed_file, entries);

  Replay a(kSetups[0], file);
  Replay b(kSetups[0], changed_file);
  const DecisionComparison comparison = first_difference(a.decisions(), b.decisions());
  REQUIRE(comparison.first.has_value());
  REQUIRE(comparison.first->a.has_value());
  CHECK(comparison.first->a->step == expected);
  CHECK(comparison.first->a->text.find("ended: cancelled (client)") != std::string::npos);
  CHECK(comparison.equal_steps >= static_cast<std::int64_t>(raw(expected)) - 1);
  CHECK(to_text(comparison, "A", "B").find("step " + std::to_string(raw(expected)) + " of replica 0") !=
        std::string::npos);
}

TEST_CASE("a journal that answers another step than was started stops the replay before the core sees it") {
  const ScratchFile file("answers");
  record(kSetups[0], file);
  std::vector<JournalEntry> entries = entries_of(file);
  auto& event = std::get<JournalEvent>(entries[find_event<StepDone>(entries, entries.size() / 2)]);
  auto& done = std::get<StepDone>(event.stamped.event);
  const std::string step = std::to_string(raw(done.step));
  done.step = next(done.step);
  write_entries(file, entries);
  Replay replay(kSetups[0], file);
  replay.run();
  REQUIRE(replay.backend().mismatch().has_value());
  CHECK(replay.backend().mismatch()->find("the replay waits for step " + step) != std::string::npos);
}

}  // namespace servetwin::record_replay_test
