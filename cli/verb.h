// A verb of the command line: one file, one registration line, as every other plug-in.
//   const Registered<Verb, Simulate> kSimulate{"simulate", "Runs a scenario and answers in a sentence."};
#pragma once

#include "cli/arguments.h"
#include "cli/terminal.h"
#include "engine/base/registry.h"

namespace servetwin {

// What the process ends with. 130 and 143 follow SIGINT and SIGTERM.
enum class ExitCode : int {
  kOk = 0,
  kVerdictFailed = 1,  // the run worked and what was asked does not hold
  kBadInput = 2,       // usage, or a file that is wrong
  kBroken = 3,         // an invariant of the program itself
  kIo = 4,             // a file could not be read or written, memory ran out, or what computes failed
  kInterrupted = 130,
  kTerminated = 143
};

// What --json means, for the verbs that have it.
inline constexpr const char* kJsonHelp =
    "Prints JSON on standard output; messages and exit codes are the same.";

class Verb {
 public:
  // Verbs take no parameters from files.
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };

  explicit Verb(const Params& /*params*/) {}
  virtual ~Verb() = default;
  // Says what may stand on the command line; run() finds it there.
  virtual void declare(Arguments& arguments) = 0;
  virtual ExitCode run(Terminal& terminal) = 0;
};

}  // namespace servetwin
