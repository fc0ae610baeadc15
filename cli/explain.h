// What `explain` finds out by simulating a run's own scenario again, every step by itself.
#pragma once

#include <optional>
#include <string>

#include "cli/verb.h"
#include "engine/base/ids.h"

namespace servetwin {

// Where an explanation goes, and in which form.
struct ExplainOutput {
  Terminal& terminal;
  bool json = false;
};

// Prints to standard output; the re-run's digests are compared with the run's own, and kVerdictFailed means
// that they differ, so that what was printed is not what happened.
ExitCode explain_step(const std::string& folder, StepId step, ReplicaId replica, const ExplainOutput& output);
// Without a step: the request's whole life.
ExitCode explain_request(const std::string& folder,
                         RequestId request,
                         std::optional<StepId> step,
                         const ExplainOutput& output);

// Whether the run again came to the run's own digests.
struct RunDigests;
struct Confirmation {
  std::optional<bool> same;  // nothing for a run that was stopped before its end
  std::string text;          // the same for people

  ExitCode code() const { return same == false ? ExitCode::kVerdictFailed : ExitCode::kOk; }
  // The text: to standard output when it belongs to a text there, else as a message.
  void print(const ExplainOutput& output) const;
};
Confirmation confirm_digests(const std::string& folder, const RunDigests& again);

}  // namespace servetwin
