// Prefill attention as FlashAttention 2 does it.
#include "costmodels/operators/tiled_prefill.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

class PrefillFa2 final : public TiledPrefill {
 public:
  explicit PrefillFa2(const Params& /*params*/) : TiledPrefill(false) {}
};

const Registered<OperatorFormula, PrefillFa2> kPrefillFa2{"attention_prefill_fa2",
                                                          "Prefill attention, FlashAttention 2."};

}  // namespace
}  // namespace servetwin
