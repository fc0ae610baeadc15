// Threads share out the outputs; a row of the weights is read once for all tokens.
#include "kernels/gemm/matmul.h"

#include <vector>

#include "engine/base/dequantise.h"
#include "kernels/lanes.h"

namespace servetwin {
namespace {

void multiply(const Product& product, std::int64_t rows, const float* input, std::int64_t first, std::int64_t end) {
  const std::int64_t columns = product.weight.columns;
  std::vector<float> values(static_cast<std::size_t>(columns));
  for (std::int64_t output = first; output < end; ++output) {
    dequantise(product.weight.dtype, {product.weight.row(output), product.weight.row_bytes()}, values);
    const float offset = product.bias == nullptr ? 0.0F : product.bias[output];
    for (std::int64_t row = 0; row < rows; ++row) {
      product.output[row * product.weight.rows + output] =
          dot(input + row * columns, values.data(), columns) + offset;
    }
  }
}

}  // namespace

void matmul(std::span<const Product> products, std::int64_t rows, const float* input, ThreadTeam& team) {
  std::int64_t total = 0;
  for (const Product& product : products) total += product.weight.rows;
  team.for_ranges(total, [&](std::int64_t first, std::int64_t end) {
    for (const Product& product : products) {
      const std::int64_t last = std::min(end, product.weight.rows);
      if (first < last) multiply(product, rows, input, first, last);
      first = std::max<std::int64_t>(0, first - product.weight.rows);
      end -= product.weight.rows;
      if (end <= 0) return;
    }
  });
}

void matmul(const Product& product, std::int64_t rows, const float* input, ThreadTeam& team) {
  matmul(std::span(&product, 1), rows, input, team);
}

}  // namespace servetwin
