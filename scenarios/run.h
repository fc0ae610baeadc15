// Runs a scenario, simulated or in the world given, and writes the files of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/metrics/answer.h"
#include "engine/metrics/provenance.h"
#include "engine/metrics/report.h"
#include "engine/serving/cluster.h"
#include "scenarios/scenario.h"

namespace servetwin {

class RunWorld;  // scenarios/run_world.h

struct RunProgress {
  Time now = kTimeZero;
  std::int64_t ended = 0;                // requests
  std::optional<std::int64_t> expected;  // in all, where it is known
};

struct RunOptions {
  std::string out;       // folder of the run; empty: no files
  bool force = false;    // an earlier run's files there are replaced
  bool journal = false;  // journal.jsonl.zst
  bool steps = false;    // steps.csv
  bool timeline = true;  // timeline.json
  bool plain_loop = false;
  std::function<void(const RunProgress&)> progress;  // called now and then
  const volatile bool* stop = nullptr;               // becomes true when the run shall end early
  std::vector<Observer*> observers;                  // told after the recorder
  RunWorld* world = nullptr;                         // null: the run is simulated
};

struct RunResult {
  RunState state = RunState::kComplete;
  Report report;
  Provenance provenance;
  Deployment deployment;
  std::vector<StalledRequest> stalled;  // who waits for what, when nothing can go on
  std::uint64_t steps = 0;
  std::vector<std::string> files;  // in the order they were written
};

// Throws ConfigError for bad input and IoError when a file cannot be written. A run that is stopped or stalls
// still writes its files, and they say so.
RunResult run_scenario(const Scenario& scenario, const RunOptions& options = {});

}  // namespace servetwin
