// Prefill attention as FlashAttention 3 does it.
#include "costmodels/operators/tiled_prefill.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

class PrefillFa3 final : public TiledPrefill {
 public:
  explicit PrefillFa3(const Params& /*params*/) : TiledPrefill(true) {}
};

const Registered<OperatorFormula, PrefillFa3> kPrefillFa3{"attention_prefill_fa3",
                                                          "Prefill attention, FlashAttention 3."};

}  // namespace
}  // namespace servetwin
