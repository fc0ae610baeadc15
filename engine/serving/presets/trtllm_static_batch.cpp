// TensorRT-LLM under its STATIC_BATCH capacity policy.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class TrtllmStaticBatch final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit TrtllmStaticBatch(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.max_num_seqs = 2048;
    config.block_size = Tokens{64};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.step = "trtllm_static_batch";
    return names;
  }
};

const Registered<Preset, TrtllmStaticBatch> kTrtllmStaticBatch{
    "trtllm-static-batch",
    "TensorRT-LLM's batch manager, STATIC_BATCH, chunked context. Left out: its radix cache's partial "
    "blocks, beams."};

}  // namespace
}  // namespace servetwin
