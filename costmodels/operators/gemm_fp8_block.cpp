// Matrix products of fp8 with scales of blocks of 128: FlashInfer's kernels for few rows, DeepGEMM's for
// more, CUTLASS's where shapes do not divide. They were measured without a graph, so the host is a floor.
#include "costmodels/operators/tiled_gemm.h"
#include "engine/base/registry.h"

namespace servetwin {
namespace {

bool divides_in_blocks(double n, double k) {
  return static_cast<std::int64_t>(k) % 128 == 0 && static_cast<std::int64_t>(n) % 64 == 0;
}
bool block_few(double m, double n, double k) { return divides_in_blocks(n, k) && m < 32; }
bool block_many(double /*m*/, double n, double k) { return divides_in_blocks(n, k); }
bool block_any(double /*m*/, double /*n*/, double /*k*/) { return true; }

class GemmFp8Block final : public TiledGemm {
 public:
  explicit GemmFp8Block(const Params& /*params*/)
      : TiledGemm({1,
                   4,
                   1e-3,
                   false,
                   {{"flashinfer", block_few, {{64, 32}}, {1}, 58, 0.5},
                    {"deepgemm",
                     block_many,
                     {{64, 32}, {64, 64}, {64, 128}, {128, 64}, {128, 128}, {128, 256}},
                     {1},
                     83,
                     9},
                    {"cutlass", block_any, {{128, 128}}, {1}, 176, 0.5}}}) {}
};

const Registered<OperatorFormula, GemmFp8Block> kGemmFp8Block{"gemm_fp8_block",
                                                              "Matrix products of fp8, scales by blocks."};

}  // namespace
}  // namespace servetwin
