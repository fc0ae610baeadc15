// TensorRT-LLM under its GUARANTEED_NO_EVICT capacity policy.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class TrtllmGuaranteedNoEvict final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit TrtllmGuaranteedNoEvict(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.max_num_seqs = 2048;
    config.block_size = Tokens{64};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.step = "trtllm_guaranteed_no_evict";
    return names;
  }
};

const Registered<Preset, TrtllmGuaranteedNoEvict> kTrtllmGuaranteedNoEvict{
    "trtllm-guaranteed-no-evict",
    "TensorRT-LLM's batch manager, GUARANTEED_NO_EVICT, chunked context. Left out: its radix cache's partial "
    "blocks and 'beneficial to skip', beams."};

}  // namespace
}  // namespace servetwin
