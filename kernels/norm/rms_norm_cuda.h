// Launches of root-mean-square normalisation on a device; rms_norm.h says what it computes.
#pragma once

#include "engine/base/dtype.h"
#include "kernels/cuda/stream.h"
#include "kernels/norm/rms_norm.h"

namespace servetwin {

// All elements are of `dtype`: f32, f16 or bf16. Sums are in f32.
void rms_norm_cuda(const RmsNormOptions& options,
                   DType dtype,
                   const void* input,
                   const void* weight,
                   void* output,
                   CudaStream stream = {});

// The residual is rounded to `dtype` before it is normalised.
void add_rms_norm_cuda(const RmsNormOptions& options,
                       DType dtype,
                       const void* input,
                       void* residual,
                       const void* weight,
                       void* output,
                       CudaStream stream = {});

}  // namespace servetwin
