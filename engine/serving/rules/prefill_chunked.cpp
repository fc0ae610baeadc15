// SGLang's steps: prompts alone, the last of them cut to the budget and first in the next step, else all
// decoders. So one prompt at a time is in chunks.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class PrefillChunked final : public BatchRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit PrefillChunked(const Params& /*params*/) {}

  std::optional<Tokens> chunk(const ChunkView& view, const EngineConfig& /*config*/) const override {
    return std::min(view.rest, view.budget);
  }
  Composition composition() const override { return Composition::kPrefillAlone; }
};

const Registered<BatchRule, PrefillChunked> kPrefillChunked{
    "prefill_chunked", "Prompts alone, the last cut to the budget, else all decoders (SGLang, mini-sglang)."};

}  // namespace
}  // namespace servetwin
