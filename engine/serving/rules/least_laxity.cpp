// Least laxity first: the time to the first token's deadline less the estimated time to compute what is
// missing. All age alike, so the order is that of deadline - estimate.
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class LeastLaxity final : public WaitingOrder {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  LeastLaxity(const Params& /*params*/, const RuleContext& context)
      : limits_(required_ttfts(context, "least_laxity")),
        estimator_(required_estimator(context, "least_laxity")) {}

  bool changing() const override { return true; }
  bool sees_cache() const override { return true; }

  bool before(const WaitingView& a, const WaitingView& b) const override { return rank(a) < rank(b); }

 private:
  std::tuple<Time, Time, RequestId> rank(const WaitingView& view) const {
    const RequestSpec& request = *view.request;
    const Tokens context = request.prompt + view.outputs - view.rest;
    const Time latest =
        request.arrival + limits_[raw(request.traffic_class)] - prefill_time(estimator_, view.rest, context);
    return {latest, request.arrival, request.id};
  }

  std::vector<Duration> limits_;  // by class
  const StepTimeEstimator& estimator_;
};

const Registered<WaitingOrder, LeastLaxity> kLeastLaxity{
    "least_laxity",
    "Least slack to slo.ttft after the estimated prefill first. No bound: long prompts overtake."};

}  // namespace
}  // namespace servetwin
