// vLLM V0's default scheduler: steps of prompts or of decoders, a watermark, recompute preemption.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class VllmV0 final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit VllmV0(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.chunked_prefill = false;
    config.prefix_caching = false;
    config.watermark = 0.01;
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.batch = "prefill_alone";
    return names;
  }
};

const Registered<Preset, VllmV0> kVllmV0{
    "vllm-v0",
    "vLLM V0 without chunked prefill: prompts alone or decoders alone, 1 % watermark. Left out: its separate "
    "queue of swapped requests, beams."};

}  // namespace
}  // namespace servetwin
