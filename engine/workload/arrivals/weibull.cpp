// Gaps with a Weibull distribution: heavy tails below shape 1, Poisson at 1.
#include "engine/base/det_math.h"
#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/workload/arrivals/gap_clock.h"
#include "engine/workload/horizon.h"

namespace servetwin {
namespace {

// Gamma(1 + x) for 0 <= x <= 20: Stirling's formula 18 steps up, where it is exact to double precision, and
// back.
double gamma_of_one_plus(double x) {
  constexpr int kSteps = 18;
  double product = 1;
  for (int i = 1; i <= kSteps; ++i) product *= x + i;
  return det_exp(det_log_factorial(x + kSteps)) / product;
}

class WeibullArrivals final : public ArrivalProcess {
 public:
  struct Params {
    PerSecond rate;
    double shape = 1;
    template <class Visitor>
    void fields(Visitor& v) {
      v("rate", rate, "Arrivals a second.", kRequired, Range{kMinRate, kMaxRate});
      v("shape", shape, "Below 1 bursty, 1 Poisson, above 1 regular.", Range{0.05, 100.0});
    }
  };
  WeibullArrivals(const Params& params, const MakeContext& context)
      : clock_([key = StreamKey{context.seed, Stream::kArrivals, 0},
                shape = params.shape,
                scale = 1 / (params.rate.value * gamma_of_one_plus(1 / params.shape))](
                   std::uint32_t i) { return span_of_seconds(sample_weibull(key, i, shape, scale)); },
               params.rate,
               false,
               context) {}
  Time next() override { return clock_.next(); }
  double expected(Duration span) const override { return clock_.expected(span); }

 private:
  GapClock clock_;
};

const Registered<ArrivalProcess, WeibullArrivals> kWeibullArrivals{"weibull",
                                                                   "Weibull gaps of a given shape."};

}  // namespace
}  // namespace servetwin
