// vLLM V0's steps: whole prompts alone as long as one can enter, else all decoders.
#include "engine/base/registry.h"
#include "engine/serving/rules/whole_prompts.h"

namespace servetwin {
namespace {

class PrefillAlone final : public WholePrompts {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit PrefillAlone(const Params& /*params*/) {}

  bool spare_block() const override { return true; }
};

const Registered<BatchRule, PrefillAlone> kPrefillAlone{
    "prefill_alone", "Whole prompts alone while one can enter, else all decoders (vLLM V0)."};

}  // namespace
}  // namespace servetwin
