// Whether a profile is one of this scenario, and whether it reaches as far as the scenario's steps can.
#pragma once

#include <optional>
#include <string>

#include "costmodels/cost_model.h"
#include "costmodels/step_profile.h"

namespace servetwin {

// "device cpu, not h100-sxm; 2 threads, not 1": what differs, profile first; empty when nothing does. What
// the scenario leaves open (number format of the KV cache, threads) is as measured.
std::string profile_mismatch(const ProfileSubject& measured,
                             const CostContext& context,
                             std::optional<int> threads);

// The first limit of the engine that lies beyond what was measured, with a remedy; empty when none does.
struct BeyondProfile {
  std::string path;
  std::string message;
  std::string remedy;
};
std::optional<BeyondProfile> beyond_profile(const ProfileDomain& domain, const StepLimits& limits);

}  // namespace servetwin
