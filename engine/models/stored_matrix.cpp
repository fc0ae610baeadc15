// Copies of bytes, and back to f32.
#include "engine/models/stored_matrix.h"

#include <cstring>

#include "engine/base/dequantise.h"

namespace servetwin {

StoredMatrix f32_matrix(std::int64_t rows, std::int64_t columns, const Weights& values) {
  StoredMatrix matrix{DType::kF32, rows, columns, std::vector<std::byte>(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(matrix.bytes.data(), values.data(), matrix.bytes.size());
  return matrix;
}

Weights floats_of(const StoredMatrix& matrix) {
  Weights values(static_cast<std::size_t>(matrix.size()));
  dequantise(matrix.dtype, matrix.bytes, values);
  return values;
}

}  // namespace servetwin
