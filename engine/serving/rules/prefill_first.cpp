// nano-vllm's steps: prompts alone, of which only the first may be cut to the budget, else all decoders.
#include "engine/base/registry.h"
#include "engine/serving/rules/whole_prompts.h"

namespace servetwin {
namespace {

class PrefillFirst final : public WholePrompts {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit PrefillFirst(const Params& /*params*/) {}
};

const Registered<BatchRule, PrefillFirst> kPrefillFirst{
    "prefill_first", "Prompts alone, the first cut if it is longer than a step, else decoders (nano-vllm)."};

}  // namespace
}  // namespace servetwin
