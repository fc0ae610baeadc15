// Reserve to completion: admit only if prompt and max_tokens fit beside what the running ones may still take,
// so that nobody is ever preempted.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Conservative final : public AdmissionRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Conservative(const Params& /*params*/) {}

  std::optional<HeldReason> refuse(const AdmissionView& view, const EngineConfig& /*config*/) const override {
    if (view.need_completion + view.promised > view.free) return HeldReason::kKvGate;
    return std::nullopt;
  }
};

const Registered<AdmissionRule, Conservative> kConservative{
    "conservative", "Reserve blocks for prompt and max_tokens of everyone; never preempts."};

}  // namespace
}  // namespace servetwin
