// A model's numbers in memory: matrices of [outputs][inputs] as the checkpoint stores them, vectors in f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/weight_matrix.h"
#include "engine/models/matrix_bytes.h"

namespace servetwin {

using Weights = std::vector<float>;

// Keeps what a WeightMatrix views, or is a part of a matrix that does.
struct StoredMatrix {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  MatrixBytes bytes;

  bool empty() const { return bytes.empty(); }
  std::int64_t size() const { return rows * columns; }  // elements
  WeightMatrix view() const { return {dtype, rows, columns, bytes.data()}; }
  bool operator==(const StoredMatrix&) const = default;
};

StoredMatrix f32_matrix(std::int64_t rows, std::int64_t columns, const Weights& values);
Weights floats_of(const StoredMatrix& matrix);

// The rows of all, one below the other; they have the same columns and format.
StoredMatrix stacked(const std::vector<StoredMatrix>& matrices);
// Rows [first, first + count): a part, valid as long as the matrix's bytes.
StoredMatrix rows_of(const StoredMatrix& matrix, std::int64_t first, std::int64_t count);
// The same with bytes of its own.
inline StoredMatrix owned(const StoredMatrix& part) { return stacked({part}); }
// Columns [first, first + count): a copy. Both are whole blocks of the format.
StoredMatrix columns_of(const StoredMatrix& matrix, std::int64_t first, std::int64_t count);

}  // namespace servetwin
