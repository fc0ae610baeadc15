// Recompute or swap, whichever the estimator prices lower: one prefill of what was computed, or copying its
// blocks out and back. Short contexts are recomputed, long ones copied.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Priced final : public PressureRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  Priced(const Params& /*params*/, const RuleContext& context)
      : estimator_(required_estimator(context, "priced")), block_ns_(required_swap_time(context, "priced")) {}

  Pressure decide(const PressureView& view, const EngineConfig& /*config*/) const override {
    if (view.blocks > view.host_free) return Pressure::kRecompute;
    const Duration copies = duration_from_ns(2 * block_ns_ * static_cast<double>(view.blocks.value));
    const Duration again = prefill_time(estimator_, view.computed, Tokens{0});
    return copies < again ? Pressure::kSwap : Pressure::kRecompute;
  }
  bool swaps() const override { return true; }

 private:
  const StepTimeEstimator& estimator_;
  double block_ns_;
};

const Registered<PressureRule, Priced> kPriced{
    "priced", "Recompute or swap, whichever is estimated to take less; needs a host tier."};

}  // namespace
}  // namespace servetwin
