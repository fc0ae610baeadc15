// First come, first served: arrival order; a preempted request goes back to the front. No starvation.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Fcfs final : public WaitingOrder {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Fcfs(const Params& /*params*/) {}

  bool before(const WaitingView& a, const WaitingView& b) const override { return a.place < b.place; }

  bool by_place() const override { return true; }
  std::optional<Duration> starvation_bound() const override { return Duration{0}; }
};

const Registered<WaitingOrder, Fcfs> kFcfs{"fcfs", "First come, first served; preempted requests go first."};

}  // namespace
}  // namespace servetwin
