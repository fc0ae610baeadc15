// Copies of bytes, and back to f32.
#include "engine/models/stored_matrix.h"

#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/dequantise.h"

namespace servetwin {

StoredMatrix f32_matrix(std::int64_t rows, std::int64_t columns, const Weights& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {DType::kF32, rows, columns, std::move(bytes)};
}

Weights floats_of(const StoredMatrix& matrix) {
  Weights values(static_cast<std::size_t>(matrix.size()));
  dequantise(matrix.dtype, matrix.bytes, values);
  return values;
}

StoredMatrix stacked(const std::vector<StoredMatrix>& matrices) {
  std::vector<std::byte> bytes;
  std::int64_t rows = 0;
  for (const StoredMatrix& one : matrices) {
    CHECK_INVARIANT(one.dtype == matrices.front().dtype && one.columns == matrices.front().columns);
    bytes.insert(bytes.end(), one.bytes.begin(), one.bytes.end());
    rows += one.rows;
  }
  return {matrices.front().dtype, rows, matrices.front().columns, std::move(bytes)};
}

StoredMatrix rows_of(const StoredMatrix& matrix, std::int64_t first, std::int64_t count) {
  CHECK_INVARIANT(first >= 0 && count >= 0 && first + count <= matrix.rows, first, count, matrix.rows);
  const std::size_t row_bytes = matrix.view().row_bytes();
  return {matrix.dtype, count, matrix.columns,
          matrix.bytes.part(static_cast<std::size_t>(first) * row_bytes,
                            static_cast<std::size_t>(count) * row_bytes)};
}

StoredMatrix columns_of(const StoredMatrix& matrix, std::int64_t first, std::int64_t count) {
  const BlockLayout layout = layout_of(matrix.dtype);
  CHECK_INVARIANT(first >= 0 && first + count <= matrix.columns, first, count, matrix.columns);
  CHECK_INVARIANT(first % layout.block_elements == 0 && count % layout.block_elements == 0, first, count);
  const auto bytes_of = [&](std::int64_t columns) {
    return columns / layout.block_elements * layout.block_bytes;
  };
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(matrix.rows * bytes_of(count)));
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::byte* from = matrix.view().row(row) + bytes_of(first);
    bytes.insert(bytes.end(), from, from + bytes_of(count));
  }
  return {matrix.dtype, matrix.rows, count, std::move(bytes)};
}

}  // namespace servetwin
