// A tensor in a file: where it lies, its view in memory, and the slices of it that tensor-parallel ranks
// hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/unit_text.h"
#include "engine/models/checkpoints/model_file.h"

namespace servetwin {

// Outermost dimension first, as Hugging Face prints it; the last one is contiguous in memory.
using Shape = std::vector<std::int64_t>;

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::size_t file = 0;     // index into the checkpoint's files
  std::uint64_t begin = 0;  // of its bytes in that file
  std::uint64_t size = 0;   // bytes
};

struct TensorView {
  DType dtype = DType::kF32;
  Shape shape;
  ByteSpan bytes;
};

// Rows of a tensor, all dimensions but the last taken as one; a slice of columns has gaps between its rows.
struct MatrixView {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;   // elements
  std::size_t row_bytes = 0;  // of the columns in view
  std::size_t stride = 0;     // bytes from one row to the next
  const std::byte* data = nullptr;

  ByteSpan row(std::int64_t index) const {
    return {data + static_cast<std::size_t>(index) * stride, row_bytes};
  }
};

struct TensorRank {
  int rank = 0;
  int ranks = 1;
};

std::int64_t row_length(const Shape& shape);  // 1 for a scalar
std::int64_t num_rows(const Shape& shape);    // 1 for a vector or scalar; 0 when a row has no elements
std::int64_t num_elements(const Shape& shape);
std::string to_string(const Shape& shape);  // [64, 16]

// Bytes of a tensor, or why no tensor has this shape: a negative dimension, a product beyond 2^63, a row that
// is no whole number of blocks.
Parsed<Bytes> shape_bytes(DType dtype, const Shape& shape);

MatrixView matrix_of(const TensorView& tensor);
// The share of one rank: a run of rows (column-parallel layers: query, key, value, gate, up), or a run of
// columns (row-parallel layers: output, down). Refused where ranks would hold different amounts, or a cut
// would go through a quantised block.
Parsed<MatrixView> slice_rows(const MatrixView& matrix, TensorRank rank);
Parsed<MatrixView> slice_columns(const MatrixView& matrix, TensorRank rank);

}  // namespace servetwin
