// Runs what a comparison plans, every variant of a seed on the same requests, and compares.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/comparison.h"

namespace servetwin {

struct ComparisonRunOptions {
  int threads = 1;                                  // that simulate, each one run at a time
  const volatile bool* stop = nullptr;              // becomes true when it shall end early
  std::function<void(int done, int all)> progress;  // runs; called from those threads, one call at a time
};

// One run of a comparison.
struct ComparedRunFacts {
  std::string variant;
  std::int64_t seed = 0;
  std::string scenario_hash;  // of the resolved scenario
  std::uint64_t decisions_digest = 0;
  std::uint64_t timeline_digest = 0;
  std::string evidence;  // class of the cost model's figures
  std::string cost_model;
  bool stalled = false;
};

struct ComparisonOutcome {
  std::string name;
  bool complete = true;                    // false: stopped; what follows is of the seeds that were whole
  std::vector<ComparedRunFacts> runs;      // by seed, then variant
  std::optional<ComparisonResult> result;  // none when no seed was whole
};

// The same result whatever the number of threads. Throws ConfigError when a run is refused, and when variants
// were not given the same requests: it names the first that differs.
ComparisonOutcome run_comparison(const ComparisonPlan& plan, const ComparisonRunOptions& options);

// Throws ConfigError for runs whose requests or SLOs are not the same: latencies then answer nothing.
void check_comparable(const ComparedRun& a,
                      const std::string& a_name,
                      const ComparedRun& b,
                      const std::string& b_name);

// The runs of one seed, against the baseline; checked before.
SeedValues compare_seed(const std::vector<ComparedRun>& runs,
                        std::size_t baseline,
                        const LengthBounds& bounds);

}  // namespace servetwin
