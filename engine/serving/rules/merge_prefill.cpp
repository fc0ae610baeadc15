// TGI's steps: decoders go on until enough wait or enough steps have passed; then the new prompts run alone
// and are merged with them.
#include "engine/base/registry.h"
#include "engine/serving/rules/whole_prompts.h"

namespace servetwin {
namespace {

class MergePrefill final : public WholePrompts {
 public:
  struct Params {
    double waiting_served_ratio = 1.2;
    std::int64_t max_waiting_tokens = 20;

    template <class Visitor>
    void fields(Visitor& v) {
      v("waiting_served_ratio", waiting_served_ratio,
        "Prompts interrupt the decoders if this many wait for each that runs.", Range{0.0, 1000.0});
      v("max_waiting_tokens", max_waiting_tokens, "Or if the decoders gave this many tokens since.",
        Range{0, 1'000'000});
    }
  };
  explicit MergePrefill(const Params& params) : params_(params) {}

  // A prompt's own first token counts as one of those that the decoders gave.
  bool prefill_now(const PhaseView& view) const override {
    if (view.running == 0) return true;
    if (view.merged) return false;  // merged batches first give a token together
    if (view.decodes + 1 >= params_.max_waiting_tokens) return true;
    const double enough = params_.waiting_served_ratio * static_cast<double>(view.running);
    return view.waiting >= static_cast<std::int64_t>(enough);
  }

 private:
  Params params_;
};

const Registered<BatchRule, MergePrefill> kMergePrefill{
    "merge_prefill", "Whole prompts alone, once enough wait or enough steps have passed (TGI)."};

}  // namespace
}  // namespace servetwin
