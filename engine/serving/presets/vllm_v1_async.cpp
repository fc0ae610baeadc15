// vLLM V1's scheduler with asynchronous scheduling: two steps in flight, outputs assumed before they are
// known.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class VllmV1Async final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit VllmV1Async(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.in_flight = {2, true};
    return config;
  }
  RuleNames rules() const override { return RuleNames{}; }
  bool passes_windows() const override { return true; }
};

const Registered<Preset, VllmV1Async> kVllmV1Async{
    "vllm-v1-async", "vLLM V1 with asynchronous scheduling (two steps in flight)."};

}  // namespace
}  // namespace servetwin
