// One load of a scenario, run live several times and simulated once, and how far apart the two are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/live_steps.h"
#include "costmodels/profile_subject.h"
#include "scenarios/scenario.h"

namespace servetwin {

// A figure of each live run beside the simulated one.
struct FidelityRow {
  std::string name;  // "TTFT mean"
  std::string unit;
  std::vector<double> live;  // by run
  double simulated = 0;
  std::optional<double> bound;  // of the error, where it is judged

  double mean() const;
  double spread() const;  // standard deviation of the live runs, relative to their mean
  double error() const;   // of the simulation, relative to that mean
  double allowed() const;
};

enum class FidelityVerdict : std::uint8_t { kNotJudged, kWithin, kOff, kTooNoisy };
FidelityVerdict verdict_of(const FidelityRow& row);
const char* to_string(FidelityVerdict verdict);

struct FidelityCase {
  std::string name;
  std::vector<FidelityRow> rows;
  HeldOutErrors step_errors;       // of the simulation's time for each live step's shape
  double steps_together = 0;       // all of those times over all live steps' times, less 1
  double equal_predicted = 0;      // share of steps whose decisions are equal, with predicted durations
  double equal_replayed = 0;       // with the live run's own durations
  double requests_per_second = 0;  // simulated
};

struct FidelityOptions {
  int repeats = 3;
  int threads = 1;
  std::vector<int> cpus;
  std::string folder;  // each live run has its own below it
  const volatile bool* stop = nullptr;
};

enum class FidelityKind : std::uint8_t { kSaturated, kLoaded };

// `load`: offered, as a share of capacity, where it is known; TTFT is judged below 1 alone.
FidelityCase run_case(const std::string& name,
                      const Scenario& scenario,
                      FidelityKind kind,
                      std::optional<double> load,
                      const FidelityOptions& options);

}  // namespace servetwin
