// Sarathi-Serve's stall-free steps: every decoder, then the prompts that have begun, then new ones, each cut
// to what is left of the budget, which is its chunk size.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class DecodesFirst final : public BatchRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit DecodesFirst(const Params& /*params*/) {}

  std::optional<Tokens> chunk(const ChunkView& view, const EngineConfig& /*config*/) const override {
    return std::min(view.rest, view.budget);
  }
  Composition composition() const override { return Composition::kDecodesFirst; }
  bool whole_sequence_blocks() const override { return true; }
  bool spare_block() const override { return true; }
};

const Registered<BatchRule, DecodesFirst> kDecodesFirst{
    "decodes_first",
    "Decoders, then begun prompts, then new ones, chunks cut to the budget (Sarathi-Serve)."};

}  // namespace
}  // namespace servetwin
