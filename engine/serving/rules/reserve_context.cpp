// Each running request is given a whole context of KV blocks, whatever it asked for (ORCA,
// FasterTransformer): nobody is ever preempted.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class ReserveContext final : public AdmissionRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit ReserveContext(const Params& /*params*/) {}

  std::optional<HeldReason> refuse(const AdmissionView& view, const EngineConfig& config) const override {
    const Blocks context = blocks_for(config.max_model_len, config.block_size);
    if (context * (view.running + 1) > view.usable) return HeldReason::kKvGate;
    return std::nullopt;
  }
};

const Registered<AdmissionRule, ReserveContext> kReserveContext{
    "reserve_context", "Reserve blocks for max_model_len tokens of everyone; never preempts (ORCA)."};

}  // namespace
}  // namespace servetwin
