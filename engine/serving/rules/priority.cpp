// Smaller priority number first, then earlier arrival (vLLM's priority policy). Starves low priorities under
// load.
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

auto importance(const RequestSpec& request) {
  return std::tuple{request.priority, request.arrival, request.id};
}

class PriorityOrder final : public WaitingOrder {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit PriorityOrder(const Params& /*params*/) {}

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return importance(*a.request) < importance(*b.request);
  }
};

const Registered<WaitingOrder, PriorityOrder> kPriority{"priority",
                                                        "Smaller priority number first, then arrival."};

}  // namespace
}  // namespace servetwin
