// What is compared first is what can be compared without measuring.
#include "cli/calibration_check.h"

#include <algorithm>
#include <vector>

#include "engine/base/text.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kOtherSteps = 500;  // added to the seed: another part of the sequence
constexpr std::int64_t kFirstStep = 6;      // behind the corners
constexpr std::int64_t kFewestSteps = 12;
constexpr std::int64_t kMostSteps = 64;
constexpr double kAlwaysAllowed = 0.05;

std::string differences(const ProfileSubject& profile, const ProfileSubject& here) {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) all.push_back(std::string(what) + ' ' + a + ", not " + b);
  };
  compare("device", profile.device, here.device);
  compare("cpu", profile.cpu, here.cpu);
  compare("kernels", profile.kernels, here.kernels);
  compare("build", profile.build, here.build);
  compare("threads", std::to_string(profile.threads), std::to_string(here.threads));
  compare("model", profile.shape, here.shape);
  compare("weights", profile.dtype, here.dtype);
  compare("KV cache", profile.kv_dtype, here.kv_dtype);
  return join(all, "; ");
}

bool within(const RegionError& now, const RegionError& then) {
  return now.steps == 0 || now.median <= std::max(kAlwaysAllowed, 2 * then.median);
}

}  // namespace

ProfileCheck check_profile(const StepProfile& profile,
                           const CalibrationTarget& target,
                           Duration budget,
                           std::uint64_t seed) {
  const std::string other = differences(profile.measured, target.subject);
  if (!other.empty()) return {false, "The profile is of something else: " + other + ".\n"};
  const std::unique_ptr<StepTimer> timer = make_timer(target);
  const Duration start = timer->now();
  std::vector<MeasuredStep> steps;
  std::vector<double> predicted;
  for (std::int64_t n = 0; n < kMostSteps; ++n) {
    if (n >= kFewestSteps && timer->now() - start > budget) break;
    const StepRowTimes row =
        time_step(*timer, planned_step(target.space, seed + kOtherSteps, kFirstStep + n));
    steps.push_back({row.shape, static_cast<double>(row.median_ns)});
    predicted.push_back(device_ns(profile, row.shape));
  }
  const HeldOutErrors errors = errors_of(steps, predicted);
  const bool holds = within(errors.decode, profile.error.decode) &&
                     within(errors.prefill, profile.error.prefill) &&
                     within(errors.mixed, profile.error.mixed);
  return {holds, std::string(holds ? "The profile holds" : "The profile does not hold any more") + ": " +
                     std::to_string(steps.size()) + " other steps measured now\n" + error_table(errors)};
}

}  // namespace servetwin
