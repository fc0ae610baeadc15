// Threads share out the outputs.
#include "kernels/gemm/matmul.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/vectors/dispatch.h"

namespace servetwin {
namespace {

// Rows of input, padded with zeros to whole parts where they are not.
class PaddedRows {
 public:
  PaddedRows(std::int64_t rows, std::int64_t columns, const float* input)
      : stride_((columns + 31) / 32 * 32), data_(input) {
    if (stride_ == columns) return;
    copy_.resize(static_cast<std::size_t>(rows * stride_));
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(input + row * columns, columns, copy_.data() + row * stride_);
    }
    data_ = copy_.data();
  }

  std::int64_t stride() const { return stride_; }
  const float* data() const { return data_; }

 private:
  std::int64_t stride_;
  const float* data_;
  std::vector<float> copy_;
};

}  // namespace

void matmul(const VectorKernels& kernels,
            std::span<const Product> products,
            std::int64_t rows,
            const float* input,
            ThreadTeam& team) {
  std::int64_t total = 0;
  for (const Product& product : products) total += product.weight.rows;
  const PaddedRows padded(rows, products.front().weight.columns, input);
  const auto work = [&](std::int64_t first, std::int64_t end) {
    const auto scratch =
        std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(kPanel * padded.stride()));
    for (const Product& product : products) {
      const WeightMatrix& weight = product.weight;
      const std::int64_t from = std::max<std::int64_t>(0, first);
      const std::int64_t to = std::min(end, weight.rows);
      if (from < to) {
        kernels.multiply({weight.dtype, weight.data, weight.row_bytes(), weight.columns, product.bias,
                          padded.data(), padded.stride(), rows, from, to, product.output, weight.rows,
                          scratch.get()});
      }
      first -= weight.rows;
      end -= weight.rows;
    }
  };
  team.for_ranges(total, work, kPanel);
  team.count_flops(2 * rows * total * products.front().weight.columns);
}

void matmul(std::span<const Product> products, std::int64_t rows, const float* input, ThreadTeam& team) {
  matmul(vector_kernels(), products, rows, input, team);
}

void matmul(const Product& product, std::int64_t rows, const float* input, ThreadTeam& team) {
  matmul(std::span(&product, 1), rows, input, team);
}

}  // namespace servetwin
