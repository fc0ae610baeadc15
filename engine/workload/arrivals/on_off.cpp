// Bursts: Poisson arrivals whose rate switches between two values at exponential times (a two-state MMPP).
#include <algorithm>
#include <string>

#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/arrivals/rate_clock.h"

namespace servetwin {
namespace {

class OnOffArrivals final : public ArrivalProcess {
 public:
  struct Params {
    PerSecond rate_on;
    PerSecond rate_off;
    Duration mean_on{0};
    Duration mean_off{0};
    template <class Visitor>
    void fields(Visitor& v) {
      v("rate_on", rate_on, "Arrivals a second during a burst.", kRequired, Range{kMinRate, kMaxRate});
      v("rate_off", rate_off, "Arrivals a second between bursts.", Range{PerSecond{0}, kMaxRate});
      v("mean_on", mean_on, "Mean length of a burst.", kRequired, Range{kMinPhase, kHorizon});
      v("mean_off", mean_off, "Mean pause between bursts.", kRequired, Range{kMinPhase, kHorizon});
    }
    // Of a burst and a pause.
    double arrivals() const {
      return rate_on.value * to_seconds(mean_on) + rate_off.value * to_seconds(mean_off);
    }
    std::string problem() const {
      return arrivals() < kLeastArrivals ? "a burst and a pause have less than 0.001 arrivals" : "";
    }
  };
  OnOffArrivals(const Params& params, const MakeContext& context)
      : params_(params), key_{context.seed, Stream::kRateModulation, 0}, clock_(context.seed) {
    enter(0);
  }

  Time next() override {
    while (!clock_.is_over()) {
      if (clock_.advance(piece_)) return clock_.now();
      enter(period_ + 1);
    }
    return kTimeNever;
  }
  // It begins with a burst.
  double expected(Duration span) const override {
    const double cycles = to_seconds(span) / to_seconds(params_.mean_on + params_.mean_off);
    return params_.arrivals() * cycles + params_.rate_on.value * to_seconds(std::min(span, params_.mean_on));
  }

 private:
  // Even periods are bursts; the length of each is a draw of its own.
  void enter(std::uint32_t period) {
    period_ = period;
    const bool on = period % 2 == 0;
    const double mean = to_seconds(on ? params_.mean_on : params_.mean_off);
    const PerSecond rate = on ? params_.rate_on : params_.rate_off;
    piece_ = {span_of_seconds(sample_exponential(key_, period, mean)), rate, rate};
  }

  Params params_;
  StreamKey key_;
  RateClock clock_;
  std::uint32_t period_ = 0;
  RatePiece piece_;
};

const Registered<ArrivalProcess, OnOffArrivals> kOnOffArrivals{"on_off",
                                                               "Bursts with random lengths and pauses."};

}  // namespace
}  // namespace servetwin
