// vLLM V1's chunks: what is left, cut to the long-prefill threshold and the budget; whole prompts without
// chunking.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class RunningFirst final : public BatchRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit RunningFirst(const Params& /*params*/) {}

  std::optional<Tokens> chunk(const ChunkView& view, const EngineConfig& config) const override {
    Tokens tokens = view.rest;
    const Tokens threshold = config.long_prefill_token_threshold;
    if (threshold.value > 0) tokens = std::min(tokens, threshold);
    if (!view.running && !config.chunked_prefill && tokens > view.budget) return std::nullopt;
    return std::min(tokens, view.budget);
  }
};

const Registered<BatchRule, RunningFirst> kRunningFirst{
    "running_first", "Running requests first, chunks cut to threshold and budget (vLLM V1)."};

}  // namespace
}  // namespace servetwin
