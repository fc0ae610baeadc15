// A scenario on the real executor: its traffic by the monotonic clock, its steps on a model that runs here.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/live/replica_worker.h"
#include "scenarios/run_world.h"
#include "scenarios/scenario.h"

namespace servetwin {

struct LiveWorldOptions {
  int threads = 1;          // that compute, per replica
  std::vector<int> cpus{};  // of all of those, a core each; empty: nothing is pinned
  bool kv_cache = true;     // as RunnerOptions
  SamplingParams sampling;  // of every request; lengths are those of the workload
  // Told of every token as it is sampled, on the replicas' threads.
  std::function<void(const OutputToken&)> sink;
  // Told of every step that came back, on the thread that serves.
  std::function<void(const StepResult&)> on_result;
};

// Where a live run's durations come from.
std::string describe_live(const std::string& model, DType kv_dtype, int threads);

// Throws ConfigError naming everything in the scenario that the live engine cannot do.
void check_live(const Scenario& scenario);

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
  // After a run that came to its end; else nothing.
  const std::optional<FlopCount>& flops() const { return flops_; }

 private:
  const Scenario& scenario_;
  LiveWorldOptions options_;
  ModelWeights weights_;
  std::optional<FlopCount> flops_;
};

}  // namespace servetwin
