// What `step` goes through: a scenario, the folder of a run, or a journal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/rerun.h"

namespace servetwin {

struct ShownRun {
  Scenario scenario;
  std::string folder;   // of a run, or empty
  std::string journal;  // or empty

  // The run from its beginning, every step by itself with all its rows.
  std::unique_ptr<Rerun> make(std::vector<Observer*> observers) const;
};

// Throws UsageError for settings of what is no scenario.
ShownRun open_run(const std::string& name, const ScenarioOverrides& overrides);

}  // namespace servetwin
