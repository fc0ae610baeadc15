// A victim's KV is dropped; what it had computed is computed again (vLLM V1).
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Recompute final : public PressureRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Recompute(const Params& /*params*/) {}

  Pressure decide(const PressureView& /*view*/, const EngineConfig& /*config*/) const override {
    return Pressure::kRecompute;
  }
  bool swaps() const override { return false; }
};

const Registered<PressureRule, Recompute> kRecompute{"recompute", "Drop the KV and compute it again."};

}  // namespace
}  // namespace servetwin
