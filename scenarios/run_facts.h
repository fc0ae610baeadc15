// What every run's files say of the scenario it is a run of, whatever world it ran in.
#pragma once

#include <string>

#include "engine/journal/format.h"
#include "engine/metrics/provenance.h"
#include "engine/serving/cluster.h"
#include "scenarios/scenario.h"

namespace servetwin {

// `profile_hash` is that of the cost profile, empty without one.
JournalHeader journal_header(const Scenario& scenario, std::string profile_hash);

// Scenario, model, seed and what the core decided; where the workload and the durations came from is left to
// the caller.
Provenance run_provenance(const Scenario& scenario, const Cluster& cluster);

}  // namespace servetwin
