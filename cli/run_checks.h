// The checks of selfcheck that run a scenario, or a process.
#pragma once

#include <string>
#include <vector>

namespace servetwin {

struct CheckRow {
  std::string name;
  bool ok = false;
  std::string text;
};

// The shortcut against the plain loop, and both against the replay of the journal.
void add_run_checks(std::vector<CheckRow>& rows);
// A child process breaks an invariant: its message must name the command, and its exit code must be 3.
CheckRow check_invariant_report();

}  // namespace servetwin
