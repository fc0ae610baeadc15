// Matrix products of fp8 with a scale a tensor or channel: vLLM's CUTLASS kernels, whose tiles follow from
// the shape (csrc/quantization of vLLM 0.24); quantising A is part of the time.
#include "costmodels/operators/tiled_gemm.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

bool few_narrow(double m, double n, double /*k*/) { return m <= 64 && n <= 1280; }
bool few(double m, double /*n*/, double /*k*/) { return m <= 64; }
bool some(double m, double /*n*/, double /*k*/) { return m <= 128; }
bool many(double m, double /*n*/, double k) { return m < 8192 || k < 6144; }
bool any(double /*m*/, double /*n*/, double /*k*/) { return true; }

class GemmFp8 final : public TiledGemm {
 public:
  explicit GemmFp8(const Params& /*params*/)
      : TiledGemm({1,
                   2,
                   6e-3,
                   true,
                   {{"few_narrow", few_narrow, {{64, 16}}, {1}},
                    {"few", few, {{64, 32}}, {1}},
                    {"some", some, {{128, 128, 2}}, {1}},
                    {"many", many, {{256, 128, 2}}, {1}},
                    {"most", any, {{256, 128}}, {1}}}}) {}
};

const Registered<OperatorFormula, GemmFp8> kGemmFp8{"gemm_fp8", "Matrix products of fp8, a scale a channel."};

}  // namespace
}  // namespace servetwin
