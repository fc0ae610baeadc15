// Calibrating for a scenario: what is measured on, how far, and the measurements themselves.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/campaign.h"
#include "cli/terminal.h"
#include "engine/live/model_runner.h"
#include "scenarios/scenario.h"

namespace servetwin {

struct CalibrationTarget {
  std::string name;         // of the scenario, or its file
  ScenarioOverrides given;  // what the command line said
  Scenario scenario;
  ProfileSubject subject;
  StepSpace space;
  int threads = 1;
  std::vector<int> cpus;  // of compute threads; empty: nothing is pinned
};

// This machine and program, with the scenario's model and number formats.
ProfileSubject subject_here(const Scenario& scenario, int threads);
// "cpu A, not B; …": what differs, the date aside; empty when nothing does.
std::string subject_differences(const ProfileSubject& profile, const ProfileSubject& here);

// Throws ConfigError for what does not run live.
CalibrationTarget calibration_target(const std::string& name,
                                     const ScenarioOverrides& overrides,
                                     int threads,
                                     std::vector<int> cpus);

// A model's runner, measured by itself.
std::unique_ptr<StepTimer> make_timer(const CalibrationTarget& target);

// What the live engine added to the runner's time in each step of short runs under load: several, until
// `budget` is spent. Folder is where they may write; it is removed.
std::vector<MeasuredStep> measure_host(const CalibrationTarget& target,
                                       Duration budget,
                                       const std::string& folder,
                                       const volatile bool* stop);

// Fitted; `source` names what is too little for it.
StepProfile fitted_profile(const ProfileSubject& subject,
                           const std::vector<StepRowTimes>& rows,
                           const std::vector<MeasuredStep>& host,
                           const std::string& source);

// "64 rows of 32 steps in 9 s; …": how much was measured, and how much it differs when measured again.
std::string amount_of(const CampaignProgress& done,
                      const StepProfile& profile,
                      const std::vector<StepRowTimes>& rows);
// "decode  92 steps  1.2 %  …" by region, under a heading.
std::string error_table(const HeldOutErrors& errors);
// That, and the host's part.
std::string summary_of(const StepProfile& profile);

// Throws UsageError or ConfigError for files that a calibration would destroy; `force` removes both instead.
void make_way_for(const std::string& out, const std::string& rows, bool force);
// Throws ConfigError for a device that is no CPU.
void check_device(const CalibrationTarget& target);

}  // namespace servetwin
