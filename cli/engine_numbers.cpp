// Times below a nanosecond count as one: a logarithm has no zero.
#include "cli/engine_numbers.h"

#include <algorithm>
#include <cmath>

#include "costmodels/operator_profile.h"

namespace servetwin {
namespace {

// The times that are found, each a field of the set.
struct Knob {
  const char* name;
  Duration EngineTimes::*time;
};

constexpr Knob kKnobs[] = {{"step", &EngineTimes::step},
                           {"prefill_step", &EngineTimes::prefill_step},
                           {"sequence", &EngineTimes::sequence},
                           {"layer", &EngineTimes::layer},
                           {"all_reduce_skew", &EngineTimes::all_reduce_skew},
                           {"sampling", &EngineTimes::sampling}};
constexpr std::size_t kNumKnobs = std::size(kKnobs);
constexpr double kBeforeAdmission = 0.7;  // of the front end's time

Duration time_of(double log) { return Duration{static_cast<std::int64_t>(rounded(std::exp(log), 3) + 0.5)}; }

}  // namespace

std::vector<double> engine_logs(const EngineSet& set) {
  std::vector<double> x;
  const auto add = [&](Duration d) { x.push_back(std::log(std::max(1.0, static_cast<double>(d.count())))); };
  for (const Knob& knob : kKnobs) add(set.times.*knob.time);
  x.push_back(std::log(std::max(1e-4, set.times.sampling_logit_ns)));
  add(set.front_end.per_request + set.front_end.per_output);
  return x;
}

EngineSet engine_of_logs(EngineSet set, const std::vector<double>& x) {
  for (std::size_t i = 0; i < kNumKnobs; ++i) set.times.*kKnobs[i].time = time_of(x[i]);
  set.times.sampling_logit_ns = rounded(std::exp(x[kNumKnobs]), 3);
  const double front = std::exp(x[kNumKnobs + 1]);
  set.front_end.per_request = time_of(std::log(front * kBeforeAdmission));
  set.front_end.per_output = time_of(std::log(front * (1 - kBeforeAdmission)));
  return set;
}

}  // namespace servetwin
