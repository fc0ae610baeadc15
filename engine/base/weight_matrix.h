// Rows of weights as they are stored, quantised or not: what kernels multiply with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/dtype.h"

namespace servetwin {

// A view; each row is a whole number of blocks of `dtype`, rows follow each other without gaps.
struct WeightMatrix {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;     // outputs of a product
  std::int64_t columns = 0;  // its inputs
  const std::byte* data = nullptr;

  std::size_t row_bytes() const {
    const BlockLayout layout = layout_of(dtype);
    return static_cast<std::size_t>(columns / layout.block_elements * layout.block_bytes);
  }
  const std::byte* row(std::int64_t index) const {
    return data + static_cast<std::size_t>(index) * row_bytes();
  }
  // Rows [first, first + count): an expert's share of a stacked tensor, a part of a fused projection.
  WeightMatrix slice(std::int64_t first, std::int64_t count) const {
    return {dtype, count, columns, row(first)};
  }
};

}  // namespace servetwin
