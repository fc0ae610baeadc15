// Independent arrivals at a constant rate: exponential gaps.
#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/workload/arrivals/gap_clock.h"
#include "engine/workload/horizon.h"

namespace servetwin {
namespace {

class PoissonArrivals final : public ArrivalProcess {
 public:
  struct Params {
    PerSecond rate;
    bool normalize = false;
    template <class Visitor>
    void fields(Visitor& v) {
      v("rate", rate, "Arrivals a second.", kRequired, Range{kMinRate, kMaxRate});
      v("normalize", normalize,
        "Stretch the times so that the last of N is at exactly N/rate (vllm bench serve).");
    }
  };
  PoissonArrivals(const Params& params, const MakeContext& context)
      : clock_([key = StreamKey{context.seed, Stream::kArrivals, 0}, mean = 1 / params.rate.value](
                   std::uint32_t i) { return span_of_seconds(sample_exponential(key, i, mean)); },
               params.rate,
               params.normalize,
               context) {}
  Time next() override { return clock_.next(); }
  double expected(Duration span) const override { return clock_.expected(span); }

 private:
  GapClock clock_;
};

const Registered<ArrivalProcess, PoissonArrivals> kPoissonArrivals{"poisson", "Independent arrivals."};

}  // namespace
}  // namespace servetwin
