// Root-mean-square normalisation, alone or fused with the residual addition before it. Cost: rms_norm_cost.h.
#pragma once

#include <cstdint>

namespace servetwin {

struct RmsNormOptions {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  float epsilon = 1e-5F;
};

// output[row] = input[row] / sqrt(mean(input[row]²) + epsilon) · weight. Input and output may be the same.
void rms_norm(const RmsNormOptions& options, const float* input, const float* weight, float* output);

// residual += input; then output = rms_norm(residual).
void add_rms_norm(
    const RmsNormOptions& options, const float* input, float* residual, const float* weight, float* output);

}  // namespace servetwin
