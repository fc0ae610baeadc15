// Priorities that fade: a request's rank is its priority less its age over tau, so that each step of priority
// is worth tau of waiting. Two ranks keep their order as both age alike: it is that of arrival + priority *
// tau, and the queue never has to be sorted again.
#include <algorithm>
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

class PriorityAgeing final : public WaitingOrder {
 public:
  struct Params {
    Duration tau = 10s;
    Duration max_wait = 5min;

    template <class Visitor>
    void fields(Visitor& v) {
      v("tau", tau, "Waiting that makes up for one step of priority.", Range{0ns, 24h});
      v("max_wait", max_wait, "Most that priorities are worth; who arrives later cannot overtake.",
        Range{0ns, 24h});
    }
  };
  explicit PriorityAgeing(const Params& params) : params_(params) {}

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return rank(*a.request) < rank(*b.request);
  }
  std::optional<Duration> starvation_bound() const override { return params_.max_wait; }

 private:
  std::tuple<Time, std::int32_t, RequestId> rank(const RequestSpec& request) const {
    const Duration half = params_.max_wait / 2;
    const std::int64_t tau = std::max<std::int64_t>(params_.tau.count(), 1);
    const std::int64_t steps =
        std::clamp<std::int64_t>(request.priority, -half.count() / tau, half.count() / tau);
    return {request.arrival + Duration{steps * tau}, request.priority, request.id};
  }

  Params params_;
};

const Registered<WaitingOrder, PriorityAgeing> kPriorityAgeing{
    "priority_ageing", "Priority less age over tau, smallest first. Bound: max_wait."};

}  // namespace
}  // namespace servetwin
