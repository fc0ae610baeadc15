// nano-vllm: prompts first, only the first of them in chunks.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class NanoVllm final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit NanoVllm(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{16384};
    config.max_num_seqs = 512;
    config.block_size = Tokens{256};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.batch = "prefill_first";
    return names;
  }
};

const Registered<Preset, NanoVllm> kNanoVllm{
    "nano-vllm",
    "nano-vllm: prompts first, the first of a batch cut if need be, all blocks of a prompt at once. Left "
    "out: "
    "max_num_seqs as a bound of a batch rather than of all that run, publishing blocks after the step."};

}  // namespace
}  // namespace servetwin
