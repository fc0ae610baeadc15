// Poisson arrivals along a schedule of rates, such as a day: each step holds a rate or ramps to another.
#include <optional>
#include <string>
#include <vector>

#include "engine/base/registry.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/arrivals/rate_clock.h"

namespace servetwin {
namespace {

constexpr Range kRates{PerSecond{0}, kMaxRate};

struct ScheduleStep {
  Duration length{0};
  PerSecond rate;
  std::optional<PerSecond> ramp_to;
  template <class Visitor>
  void fields(Visitor& v) {
    v("for", length, "How long the step lasts.", kRequired, Range{kMinPhase, kHorizon});
    v("rate", rate, "Arrivals a second at its start.", kRequired, kRates);
    v("ramp_to", ramp_to, "Arrivals a second at its end; the rate changes evenly. Without it the rate holds.",
      kRates);
  }
};

class ScheduledArrivals final : public ArrivalProcess {
 public:
  struct Params {
    std::vector<ScheduleStep> steps;
    bool repeat = false;
    template <class Visitor>
    void fields(Visitor& v) {
      v("steps", steps, "The rates, one after the other.", kRequired);
      v("repeat", repeat, "Start again after the last step; without it no more requests come.");
    }
    // Of all steps once.
    double arrivals() const {
      double sum = 0;
      for (const ScheduleStep& step : steps) {
        sum += (step.rate.value + step.ramp_to.value_or(step.rate).value) / 2 * to_seconds(step.length);
      }
      return sum;
    }
    std::string problem() const {
      return arrivals() < kLeastArrivals ? "all steps together have less than 0.001 arrivals" : "";
    }
  };
  ScheduledArrivals(const Params& params, const MakeContext& context)
      : params_(params), clock_(context.seed) {}

  Time next() override {
    while (at_ < params_.steps.size() && !clock_.is_over()) {
      const ScheduleStep& step = params_.steps[at_];
      if (clock_.advance({step.length, step.rate, step.ramp_to.value_or(step.rate)})) return clock_.now();
      ++at_;
      if (params_.repeat && at_ == params_.steps.size()) at_ = 0;
    }
    return kTimeNever;
  }
  double expected(Duration span) const override {
    double length = 0;
    for (const ScheduleStep& step : params_.steps) length += to_seconds(step.length);
    return params_.arrivals() * (params_.repeat ? to_seconds(span) / length + 1 : 1);
  }

 private:
  Params params_;
  RateClock clock_;
  std::size_t at_ = 0;
};

const Registered<ArrivalProcess, ScheduledArrivals> kScheduledArrivals{"schedule",
                                                                       "Rates that change over time."};

}  // namespace
}  // namespace servetwin
