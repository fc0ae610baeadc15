// Launches of the gated activations on a device; silu_and_mul.h and gelu_and_mul.h say what they compute.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "kernels/cuda/stream.h"

namespace servetwin {

// What one product for both parts leaves behind: each row of `gate_up` is `width` gates, then `width` of the
// other. The output has rows of `width`. All are of `dtype`: f32, f16 or bf16.
struct GatedRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  DType dtype = DType::kF32;
  const void* gate_up = nullptr;
  void* output = nullptr;
};

void silu_and_mul_cuda(const GatedRows& rows, CudaStream stream = {});
void gelu_and_mul_cuda(const GatedRows& rows, CudaStream stream = {});

}  // namespace servetwin
