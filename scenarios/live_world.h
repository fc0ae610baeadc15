// A scenario on the real executor: its traffic by the monotonic clock, its steps on a model that runs here.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/live/replica_worker.h"
#include "scenarios/run_world.h"
#include "scenarios/scenario.h"

namespace servetwin {

struct LiveWorldOptions {
  int threads = 1;          // that compute, of each rank of each replica
  std::vector<int> cpus{};  // of all of those, a core each; empty: nothing is pinned
  bool kv_cache = true;     // as RunnerOptions
  SplitLayout layout{};     // the same
  SamplingParams sampling;  // of every request; lengths are those of the workload
  // Told of every token as it is sampled, on the replicas' threads.
  std::function<void(const OutputToken&)> sink;
  // Told of every step that came back, on the thread that serves.
  std::function<void(const StepResult&)> on_result;
  // Told by each rank of each replica before it computes a step; what it throws ends the run.
  std::function<void(std::size_t replica, int rank, StepId step)> on_rank_step{};
  std::chrono::milliseconds deadline{60'000};  // longest wait of one rank for another
};

// What computes for a replica.
struct LiveRanks {
  int ranks = 1;
  int threads = 1;  // of each
  SplitLayout layout{};
};

// Where a live run's durations come from.
std::string describe_live(const std::string& model, DType kv_dtype, const LiveRanks& ranks);

// Throws ConfigError naming everything in the scenario that the live engine cannot do.
void check_live(const Scenario& scenario, const SplitLayout& layout = {});

class LiveWorld final : public RunWorld {
 public:
  // Checks the scenario.
  LiveWorld(const Scenario& scenario, LiveWorldOptions options);

  WorldOutcome serve(Cluster& cluster,
                     RunParts& parts,
                     JournalWriter* journal,
                     const volatile bool* stop) override;
  std::string describe(const RunParts& parts) const override;
  std::string evidence(const RunParts& /*parts*/) const override { return "measured"; }
  std::string profile_hash(const RunParts& /*parts*/) const override { return ""; }
  // What each rank of a replica holds, as a line; empty for one rank.
  std::string ranks_text() const;
  // After a run that came to its end; else nothing.
  const std::optional<FlopCount>& flops() const { return flops_; }
  // The same of what ranks tell each other, of one rank of each replica.
  const std::optional<CollectiveCheck>& collectives() const { return collectives_; }

 private:
  int ranks() const { return static_cast<int>(scenario_.spec().layout.tp); }

  const Scenario& scenario_;
  LiveWorldOptions options_;
  SplitWeights weights_;
  std::optional<FlopCount> flops_;
  std::optional<CollectiveCheck> collectives_;
};

}  // namespace servetwin
