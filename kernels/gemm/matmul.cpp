// Threads share out the outputs; a row of the weights is read once for all tokens.
#include "kernels/gemm/matmul.h"

#include "kernels/lanes.h"

namespace servetwin {

void matmul(const MatmulShape& shape,
            const float* input,
            const float* weight,
            const float* bias,
            float* output,
            ThreadTeam& team) {
  team.for_ranges(shape.outputs, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t column = first; column < end; ++column) {
      const float* of_column = weight + column * shape.inputs;
      const float offset = bias == nullptr ? 0.0F : bias[column];
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        output[row * shape.outputs + column] =
            dot(input + row * shape.inputs, of_column, shape.inputs) + offset;
      }
    }
  });
}

}  // namespace servetwin
