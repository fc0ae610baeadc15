// Every request at time zero: a closed batch, what benchmarks call an infinite rate.
#include <limits>

#include "engine/base/registry.h"
#include "engine/workload/arrival_process.h"

namespace servetwin {
namespace {

class AllAtOnce final : public ArrivalProcess {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor&) {}
  };
  AllAtOnce(const Params&, const MakeContext& context) {
    if (context.num_requests) return;
    throw ConfigError(Problem{"WKL001", context.place, context.path,
                              "all_at_once needs the number of requests", "set num_requests"});
  }
  Time next() override { return kTimeZero; }
  double expected(Duration /*span*/) const override { return std::numeric_limits<double>::infinity(); }
};

const Registered<ArrivalProcess, AllAtOnce> kAllAtOnce{"all_at_once", "Every request at time zero."};

}  // namespace
}  // namespace servetwin
