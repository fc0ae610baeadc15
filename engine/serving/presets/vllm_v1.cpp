// vLLM V1's scheduler, synchronous: one step in flight.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class VllmV1 final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit VllmV1(const Params& /*params*/) {}

  EngineConfig engine() const override { return EngineConfig{}; }
  RuleNames rules() const override { return RuleNames{}; }
  bool passes_windows() const override { return true; }
};

const Registered<Preset, VllmV1> kVllmV1{
    "vllm-v1", "vLLM V1: running first, chunked prefill, recompute preemption of the last admitted."};

}  // namespace
}  // namespace servetwin
