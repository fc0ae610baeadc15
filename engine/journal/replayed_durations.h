// How long everything took in a journal: what the replay cost model gives back.
#pragma once

#include <vector>

#include "engine/base/time.h"
#include "engine/journal/journal_reader.h"

namespace servetwin {

// Of one replica. Entry i of `steps` is step i + 1, from start_step to the stamp of its StepDone. Entry i of
// `plan_lags` is the i-th PlanDue, from the time asked for to its stamp; zero in a simulated journal. Entry i
// of `step_lags` is that of the plan which started step i + 1.
struct ReplayedDurations {
  std::vector<Duration> plan_lags;
  std::vector<Duration> step_lags;
  std::vector<Duration> steps;
};

// Reads the journal to its end; one element per replica. Steps that never ended have no entry. A journal
// whose steps do not follow one another from 1 is a ConfigError.
std::vector<ReplayedDurations> replayed_durations(JournalReader& reader);

}  // namespace servetwin
