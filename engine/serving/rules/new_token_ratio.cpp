// SGLang's estimate: those that run will take a share of what they may still take. The share falls with every
// step of decoders alone, and starts anew after a retraction (from how far the remaining ones were) and when
// nobody runs.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class NewTokenRatio final : public AdmissionRule {
 public:
  struct Params {
    double initial = 0.7;
    double lowest = 0.098;
    std::int64_t decay_steps = 600;
    std::int64_t retract_steps = 20;

    template <class Visitor>
    void fields(Visitor& v) {
      const Range share{0.0, 1.0};
      v("initial", initial, "Share of their remaining max_tokens that running requests are taken to use.",
        share);
      v("lowest", lowest, "What the share falls to.", share);
      v("decay_steps", decay_steps, "Steps of decoders alone until it is the lowest.", Range{1, 1'000'000});
      v("retract_steps", retract_steps, "Steps ahead that a retraction makes room for.", Range{0, 10'000});
    }
  };
  explicit NewTokenRatio(const Params& params) : params_(params) {}

  std::optional<HeldReason> refuse(const AdmissionView& view, const EngineConfig& /*config*/) const override {
    if (view.running == 0) return std::nullopt;
    const Blocks others = view.promised - view.promised_now;
    const Blocks expected{
        static_cast<std::int64_t>(ratio(view.pressure) * static_cast<double>(others.value))};
    // The estimate changes while nobody leaves.
    if (view.need_completion + expected + view.promised_now >= view.free) return HeldReason::kWatermark;
    return std::nullopt;
  }

 private:
  double ratio(const PressureHistory& history) const {
    double share = params_.initial;
    if (history.asked > 0) {
      const auto given = static_cast<double>(history.outputs + params_.retract_steps * history.remaining);
      share = std::min(1.0, given / static_cast<double>(history.asked));
    }
    const double step = (params_.initial - params_.lowest) / static_cast<double>(params_.decay_steps);
    return std::max(params_.lowest, share - step * static_cast<double>(history.decodes));
  }

  Params params_;
};

const Registered<AdmissionRule, NewTokenRatio> kNewTokenRatio{
    "new_token_ratio", "Admit while running requests would fit if they used a decaying share (SGLang)."};

}  // namespace
}  // namespace servetwin
