// From the words of the command line to an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "cli/verb.h"

namespace servetwin {

// Prints what a broken invariant needs to be seen again, and ends the process with 3. `words` are the command
// line.
void report_broken_invariants(const std::vector<std::string>& words);

// Does what the words after the program's name say. Every error becomes a message and its exit code.
ExitCode run_command_line(const std::vector<std::string>& words, Terminal& terminal);

}  // namespace servetwin
