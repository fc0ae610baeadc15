// What is compared first is what can be compared without measuring.
#include "cli/calibration_check.h"

#include <algorithm>
#include <vector>

namespace servetwin {
namespace {

constexpr std::uint64_t kOtherSteps = 500;  // added to the seed: another part of the sequence
constexpr std::int64_t kFirstStep = 6;      // behind the corners
constexpr std::int64_t kFewestSteps = 12;
constexpr std::int64_t kMostSteps = 32;
constexpr double kAlwaysAllowed = 0.05;

bool within(const RegionError& now, const RegionError& then) {
  return now.steps == 0 || now.median <= std::max(kAlwaysAllowed, 2 * then.median);
}

}  // namespace

ProfileCheck check_profile(const StepProfile& profile,
                           const CalibrationTarget& target,
                           Duration budget,
                           std::uint64_t seed) {
  const std::string other = subject_differences(profile.measured, target.subject);
  if (!other.empty()) return {false, "The profile is of something else: " + other + ".\n"};
  const std::unique_ptr<StepTimer> timer = make_timer(target);
  const Duration start = timer->now();
  SteadyTimer steady(*timer, target.space);
  std::vector<StepRowTimes> rows;
  for (std::int64_t n = 0; n < kMostSteps; ++n) {
    if (n >= kFewestSteps && timer->now() - start > budget) break;
    rows.push_back(steady.time(planned_step(target.space, seed + kOtherSteps, kFirstStep + n)));
    rows.back().number = n;
  }
  const std::vector<MeasuredStep> steps = merged_steps(rows);
  std::vector<double> predicted;
  for (const MeasuredStep& step : steps) predicted.push_back(device_ns(profile, step.shape));
  const HeldOutErrors errors = errors_of(steps, predicted);
  const bool holds = within(errors.decode, profile.error.decode) &&
                     within(errors.prefill, profile.error.prefill) &&
                     within(errors.mixed, profile.error.mixed);
  return {holds, std::string(holds ? "The profile holds" : "The profile does not hold any more") + ": " +
                     std::to_string(steps.size()) + " other steps measured now\n" + error_table(errors)};
}

}  // namespace servetwin
