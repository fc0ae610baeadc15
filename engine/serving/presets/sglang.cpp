// SGLang: prompts first, one at a time in chunks, admission by an estimate, retraction.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class Sglang final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Sglang(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.block_size = Tokens{1};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.batch = "prefill_chunked";
    names.admission = "new_token_ratio";
    names.victim = "fewest_outputs";
    return names;
  }
};

const Registered<Preset, Sglang> kSglang{"sglang",
                                         "SGLang (August 2025) with policy fcfs: prompts first, "
                                         "new_token_ratio, retraction. Left out: mixed chunks, "
                                         "the bound of 4096 on expected outputs, in-batch deduplication, "
                                         "eviction by last access of radix leaves."};

}  // namespace
}  // namespace servetwin
