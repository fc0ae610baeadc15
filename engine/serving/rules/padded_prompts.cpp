// Whole prompts, and a batch of them counts as its size times its longest (static batching; vLLM before it
// packed prompts).
#include "engine/base/registry.h"
#include "engine/serving/rules/whole_prompts.h"

namespace servetwin {
namespace {

class PaddedPrompts final : public WholePrompts {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit PaddedPrompts(const Params& /*params*/) {}

  std::optional<Tokens> chunk(const ChunkView& view, const EngineConfig& config) const override {
    const Tokens padded = std::max(view.longest, view.rest) * (view.rows + 1);
    if (view.rows > 0 && padded > config.max_num_batched_tokens) return std::nullopt;
    return WholePrompts::chunk(view, config);
  }
  bool spare_block() const override { return true; }
};

const Registered<BatchRule, PaddedPrompts> kPaddedPrompts{
    "padded_prompts", "As prefill_alone, and a batch of prompts counts as its size times its longest."};

}  // namespace
}  // namespace servetwin
