// A tensor in a file: where it lies, and its view in memory.
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

std::int64_t row_length(const Shape& shape);  // 1 for a scalar
std::int64_t num_rows(const Shape& shape);    // 1 for a vector or scalar; 0 when a row has no elements
std::int64_t num_elements(const Shape& shape);
std::string to_string(const Shape& shape);  // [64, 16]

// Bytes of a tensor, or why no tensor has this shape: a negative dimension, a product beyond 2^63, a row that
// is no whole number of blocks.
Parsed<Bytes> shape_bytes(DType dtype, const Shape& shape);

}  // namespace servetwin
