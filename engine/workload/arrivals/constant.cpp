// Arrivals at equal distances, the first at time zero.
#include "engine/base/registry.h"
#include "engine/base/units.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/horizon.h"

namespace servetwin {
namespace {

class ConstantArrivals final : public ArrivalProcess {
 public:
  struct Params {
    PerSecond rate;
    template <class Visitor>
    void fields(Visitor& v) {
      v("rate", rate, "Arrivals a second.", kRequired, Range{kMinRate, kMaxRate});
    }
  };
  explicit ConstantArrivals(const Params& params) : rate_(params.rate) {}

  // From the number, not from the arrival before: roundings do not add up.
  Time next() override {
    const Duration since_start = span_of_seconds(static_cast<double>(index_++) / rate_.value);
    return since_start < kHorizon ? kTimeZero + since_start : kTimeNever;
  }
  double expected(Duration span) const override { return rate_.value * to_seconds(span); }

 private:
  PerSecond rate_;
  std::int64_t index_ = 0;
};

const Registered<ArrivalProcess, ConstantArrivals> kConstantArrivals{"constant", "One arrival every 1/rate."};

}  // namespace
}  // namespace servetwin
