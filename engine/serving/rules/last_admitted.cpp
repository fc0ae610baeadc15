// The victim is the request admitted last (vLLM's FCFS policy): those that waited longest keep their place.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class LastAdmitted final : public VictimRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LastAdmitted(const Params& /*params*/) {}

  std::size_t pick(const std::vector<RunningView>& running) const override { return running.size() - 1; }
};

const Registered<VictimRule, LastAdmitted> kLastAdmitted{"last_admitted", "The request admitted last."};

}  // namespace
}  // namespace servetwin
