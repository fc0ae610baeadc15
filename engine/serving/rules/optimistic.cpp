// Overcommit: admit when the current sequence fits now (full-sequence gate, watermark); growth may preempt
// later.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Optimistic final : public AdmissionRule {
 public:
  struct Params {
    std::int64_t max_skips = 0;

    template <class Visitor>
    void fields(Visitor& v) {
      v("max_skips", max_skips, "How often others may enter past a request that does not fit; 0: never.",
        Range{0, 1000000});
    }
  };
  explicit Optimistic(const Params& params) : params_(params) {}

  std::int64_t most_skips() const override { return params_.max_skips; }
  bool keeps_watermark() const override { return true; }

  std::optional<HeldReason> refuse(const AdmissionView& view, const EngineConfig& config) const override {
    const Blocks need = config.full_sequence_gate ? view.need_sequence : view.need_chunk;
    if (need > view.free) return config.full_sequence_gate ? HeldReason::kKvGate : HeldReason::kKvAllocation;
    const Blocks kept{
        static_cast<std::int64_t>(config.watermark * static_cast<double>(config.num_blocks.value))};
    if (view.running > 0 && need + kept > view.free) return HeldReason::kWatermark;
    return std::nullopt;
  }

 private:
  Params params_;
};

const Registered<AdmissionRule, Optimistic> kOptimistic{
    "optimistic", "Admit when the current sequence fits now; growth may preempt (vLLM V1)."};

}  // namespace
}  // namespace servetwin
