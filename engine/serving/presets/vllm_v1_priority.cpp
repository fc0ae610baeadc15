// vLLM V1's scheduler under its priority policy.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class VllmV1Priority final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit VllmV1Priority(const Params& /*params*/) {}

  EngineConfig engine() const override { return EngineConfig{}; }
  RuleNames rules() const override {
    RuleNames names;
    names.waiting_order = "priority";
    names.victim = "least_important";
    return names;
  }
  bool passes_windows() const override { return true; }
};

const Registered<Preset, VllmV1Priority> kVllmV1Priority{
    "vllm-v1-priority", "vLLM V1 with priorities: smaller numbers first, largest numbers preempted."};

}  // namespace
}  // namespace servetwin
