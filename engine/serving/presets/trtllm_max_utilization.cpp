// TensorRT-LLM under its MAX_UTILIZATION capacity policy.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class TrtllmMaxUtilization final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit TrtllmMaxUtilization(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.max_num_seqs = 2048;
    config.block_size = Tokens{64};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.step = "trtllm_max_utilization";
    return names;
  }
};

const Registered<Preset, TrtllmMaxUtilization> kTrtllmMaxUtilization{
    "trtllm-max-utilization",
    "TensorRT-LLM's batch manager, MAX_UTILIZATION, chunked context. Left out: its two-step look-ahead, a "
    "waiting request that pauses running ones of lower priority, beams."};

}  // namespace
}  // namespace servetwin
