// Earliest deadline first: arrival plus the class's limit for the first token.
#include <algorithm>
#include <tuple>

#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Edf final : public WaitingOrder {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  Edf(const Params& /*params*/, const RuleContext& context) : limits_(required_ttfts(context, "edf")) {}

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return rank(*a.request) < rank(*b.request);
  }
  std::optional<Duration> starvation_bound() const override {
    const auto [least, most] = std::minmax_element(limits_.begin(), limits_.end());
    return *most - *least;
  }

 private:
  std::tuple<Time, Time, RequestId> rank(const RequestSpec& request) const {
    CHECK_INVARIANT(raw(request.traffic_class) < limits_.size(), raw(request.traffic_class));
    return {request.arrival + limits_[raw(request.traffic_class)], request.arrival, request.id};
  }

  std::vector<Duration> limits_;  // by class
};

const Registered<WaitingOrder, Edf> kEdf{
    "edf", "Earliest deadline of the first token (slo.ttft) first. Bound: the spread of the limits."};

}  // namespace
}  // namespace servetwin
