// The victim with the largest priority number, then the latest arrival (vLLM's priority policy).
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class LeastImportant final : public VictimRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LeastImportant(const Params& /*params*/) {}

  std::size_t pick(const std::vector<RunningView>& running) const override {
    std::size_t worst = 0;
    for (std::size_t i = 1; i < running.size(); ++i) {
      if (rank(*running[worst].request) < rank(*running[i].request)) worst = i;
    }
    return worst;
  }

 private:
  static std::tuple<std::int32_t, Time, RequestId> rank(const RequestSpec& request) {
    return {request.priority, request.arrival, request.id};
  }
};

const Registered<VictimRule, LeastImportant> kLeastImportant{"least_important",
                                                             "Largest priority number, then latest arrival."};

}  // namespace
}  // namespace servetwin
