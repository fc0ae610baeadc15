// A scenario run live into a folder of its own, and its journal replayed and simulated again.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/journal/replay_backend.h"
#include "engine/workload/plugin_choice.h"
#include "scenarios/live_world.h"
#include "scenarios/recorded_simulation.h"
#include "scenarios/run.h"

namespace servetwin {

struct BothDigests {
  std::uint64_t decisions = 0;
  std::uint64_t timeline = 0;

  friend bool operator==(const BothDigests&, const BothDigests&) = default;
};

inline BothDigests digests_of(const Cluster& cluster) {
  return {cluster.decisions_digest(), cluster.timeline_digest()};
}

// What ended how, and what was preempted and reused on the way.
struct Tally final : Observer {
  void on_end(const RequestRecord& record) override {
    records.push_back(record);
    if (record.end_state == EndState::kStop) stops.push_back(record);
    preemptions += record.preemptions;
    cached += record.cached.value;
    ++ends[static_cast<std::size_t>(record.end_state)];
  }
  void on_plan(const StepPlan& plan) override {
    swapped_out += plan.shape.swap_out_blocks;
    swapped_in += plan.shape.swap_in_blocks;
    most_used = std::max(most_used, plan.used_blocks);
  }
  std::int64_t ended(EndState state) const { return ends[static_cast<std::size_t>(state)]; }

  std::vector<RequestRecord> records;
  std::vector<RequestRecord> stops;
  std::int64_t preemptions = 0;
  std::int64_t cached = 0;
  std::int64_t swapped_out = 0;  // blocks
  std::int64_t swapped_in = 0;
  Blocks most_used{0};  // after any plan
  std::array<std::int64_t, kNumEndStates> ends{};
};

class LiveRun {
 public:
  LiveRun(const std::string& name, const std::string& text, LiveWorldOptions world_options = {})
      : folder_("live_run_" + name), scenario_(parse_scenario(text, name)) {
    LiveWorld world(scenario_, std::move(world_options));
    RunOptions options;
    options.out = folder_;
    options.force = true;
    options.journal = true;
    options.plain_loop = true;
    options.world = &world;
    options.observers = {&tally};
    result = run_scenario(scenario_, options);
    flops = world.flops();
    collectives = world.collectives();
  }
  ~LiveRun() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  const Scenario& scenario() const { return scenario_; }
  std::string journal() const { return folder_ + "/journal.jsonl.zst"; }
  BothDigests recorded() const {
    return {result.provenance.decisions_digest, result.provenance.timeline_digest};
  }
  RecordedRun record() const { return read_recorded_run(journal(), tally.stops); }

  RunResult result;
  std::optional<FlopCount> flops;
  std::optional<CollectiveCheck> collectives;
  Tally tally;

 private:
  std::string folder_;
  Scenario scenario_;
};

// The core of a run, fed with its journal.
class JournalReplay {
 public:
  explicit JournalReplay(const LiveRun& run) : JournalReplay(run.scenario(), run.journal()) {}
  JournalReplay(const Scenario& scenario, const std::string& journal)
      : reader_(journal),
        parts_(assemble(scenario)),
        cluster_(parts_.cluster, parts_.make_rules, std::move(parts_.router), {&log_}),
        backend_(reader_, [this](const RequestSpec& request) { cluster_.add_request(request); }),
        decisions_(cluster_, backend_, log_) {}

  DecisionSource& decisions() { return decisions_; }
  const Cluster& cluster() const { return cluster_; }
  const ReplayBackend& backend() const { return backend_; }
  const JournalReader& reader() const { return reader_; }

 private:
  JournalReader reader_;
  RunParts parts_;
  DecisionLog log_;
  Cluster cluster_;
  ReplayBackend backend_;
  RunDecisions decisions_;
};

}  // namespace servetwin
