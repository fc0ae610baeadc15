// A victim's KV is copied to the host and comes back when it enters again (vLLM V0's swap); where the host
// tier has no room it is computed again.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Swap final : public PressureRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Swap(const Params& /*params*/) {}

  Pressure decide(const PressureView& view, const EngineConfig& /*config*/) const override {
    return view.blocks <= view.host_free ? Pressure::kSwap : Pressure::kRecompute;
  }
  bool swaps() const override { return true; }
};

const Registered<PressureRule, Swap> kSwap{
    "swap", "Copy the KV to the host and back; recompute where the host is full."};

}  // namespace
}  // namespace servetwin
