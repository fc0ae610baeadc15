// What `explain` finds out by simulating a run's own scenario again, every step by itself.
#pragma once

#include <optional>
#include <string>

#include "cli/verb.h"
#include "engine/base/ids.h"

namespace servetwin {

// Prints to standard output; the re-run's digests are compared with the run's own, and kVerdictFailed means
// that they differ, so that what was printed is not what happened.
ExitCode explain_step(const std::string& folder, StepId step, ReplicaId replica, Terminal& terminal);
// Without a step: the request's whole life.
ExitCode explain_request(const std::string& folder,
                         RequestId request,
                         std::optional<StepId> step,
                         Terminal& terminal);

// Whether the run again came to the run's own digests; says so, or why it cannot be told.
class Rerun;
ExitCode confirm_digests(const std::string& folder, Rerun& rerun, Terminal& terminal);

}  // namespace servetwin
