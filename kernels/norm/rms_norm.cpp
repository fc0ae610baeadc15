// Row by row; the sum of squares runs in the fixed order of lanes.h.
#include "kernels/norm/rms_norm.h"

#include "kernels/vectors/dispatch.h"

namespace servetwin {

void rms_norm(const RmsNormOptions& options, const float* input, const float* weight, float* output) {
  const std::int64_t width = options.width;
  for (std::int64_t row = 0; row < options.rows; ++row, input += width, output += width) {
    vector_kernels().rms_norm(input, weight, options.epsilon, output, width);
  }
}

void add_rms_norm(
    const RmsNormOptions& options, const float* input, float* residual, const float* weight, float* output) {
  const std::int64_t size = options.rows * options.width;
  for (std::int64_t i = 0; i < size; ++i) residual[i] += input[i];
  rms_norm(options, residual, weight, output);
}

}  // namespace servetwin
