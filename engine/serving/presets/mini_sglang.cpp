// mini-sglang: prompts first in chunks, full outputs reserved.
#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {
namespace {

class MiniSglang final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit MiniSglang(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.block_size = Tokens{1};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.batch = "prefill_chunked";
    names.admission = "conservative";
    return names;
  }
};

const Registered<Preset, MiniSglang> kMiniSglang{
    "mini-sglang",
    "mini-sglang: prompts first, one at a time in chunks, prompt and max_tokens reserved, so nobody is "
    "preempted. Left out: eviction by last access of radix leaves."};

}  // namespace
}  // namespace servetwin
