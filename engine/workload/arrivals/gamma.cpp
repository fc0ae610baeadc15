// Gaps with a Gamma distribution: burstier than Poisson above cv 1, more regular below.
#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/workload/arrivals/gap_clock.h"
#include "engine/workload/horizon.h"

namespace servetwin {
namespace {

class GammaArrivals final : public ArrivalProcess {
 public:
  struct Params {
    PerSecond rate;
    double cv = 1;
    bool normalize = false;
    template <class Visitor>
    void fields(Visitor& v) {
      v("rate", rate, "Arrivals a second.", kRequired, Range{kMinRate, kMaxRate});
      v("cv", cv, "Standard deviation of the gaps over their mean; vLLM's burstiness is 1/cv^2.",
        Range{0.01, 100.0});
      v("normalize", normalize,
        "Stretch the times so that the last of N is at exactly N/rate (vllm bench serve).");
    }
  };
  GammaArrivals(const Params& params, const MakeContext& context)
      : clock_([key = StreamKey{context.seed, Stream::kArrivals, 0},
                shape = 1 / (params.cv * params.cv),
                scale = params.cv * params.cv / params.rate.value](
                   std::uint32_t i) { return span_of_seconds(sample_gamma(key, i, shape, scale)); },
               params.rate,
               params.normalize,
               context) {}
  Time next() override { return clock_.next(); }
  double expected(Duration span) const override { return clock_.expected(span); }

 private:
  GapClock clock_;
};

const Registered<ArrivalProcess, GammaArrivals> kGammaArrivals{"gamma", "Gamma gaps of a given cv."};

}  // namespace
}  // namespace servetwin
