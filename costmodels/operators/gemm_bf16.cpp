// Matrix products in 16 bits, as cuBLAS computes them.
#include "costmodels/operators/tiled_gemm.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

bool any_shape(double /*m*/, double /*n*/, double /*k*/) { return true; }

class GemmBf16 final : public TiledGemm {
 public:
  explicit GemmBf16(const Params& /*params*/)
      : TiledGemm({2,
                   2,
                   0,
                   true,
                   {{"all", any_shape, {{64, 64}, {128, 128}, {128, 256}}, {1, 2, 3, 4, 6, 8, 16}}}}) {}
};

const Registered<OperatorFormula, GemmBf16> kGemmBf16{"gemm_bf16", "Matrix products in 16 bits."};

}  // namespace
}  // namespace servetwin
