// Matrix products of fp8 with a scale a tensor or channel: vLLM's CUTLASS kernels, whose tiles follow from
// the shape (csrc/quantization of vLLM 0.24); quantising A is part of the time.
#include "costmodels/operators/tiled_gemm.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

bool fp8_few_narrow(double m, double n, double /*k*/) { return m <= 64 && n <= 1280; }
bool fp8_few(double m, double /*n*/, double /*k*/) { return m <= 64; }
bool fp8_some(double m, double /*n*/, double /*k*/) { return m <= 128; }
bool fp8_many(double m, double /*n*/, double k) { return m < 8192 || k < 6144; }
bool fp8_any(double /*m*/, double /*n*/, double /*k*/) { return true; }

class GemmFp8 final : public TiledGemm {
 public:
  explicit GemmFp8(const Params& /*params*/)
      : TiledGemm({1,
                   2,
                   6e-3,
                   true,
                   {{"few_narrow", fp8_few_narrow, {{64, 16}}, {1}},
                    {"few", fp8_few, {{64, 32}}, {1}},
                    {"some", fp8_some, {{128, 128, 2}}, {1}},
                    {"many", fp8_many, {{256, 128, 2}}, {1}},
                    {"most", fp8_any, {{256, 128}}, {1}}}}) {}
};

const Registered<OperatorFormula, GemmFp8> kGemmFp8{"gemm_fp8", "Matrix products of fp8, a scale a channel."};

}  // namespace
}  // namespace servetwin
