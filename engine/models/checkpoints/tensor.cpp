// All arithmetic on sizes from files is checked for overflow here, and nowhere else.
#include "engine/models/checkpoints/tensor.h"

#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

template <class T>
Parsed<T> refused(std::string message, std::string remedy) {
  return {std::nullopt, std::move(message), std::move(remedy)};
}

// Rows or columns of one rank, or the refusal.
Parsed<std::int64_t> share(std::int64_t count, const char* what, TensorRank rank) {
  CHECK_INVARIANT(rank.ranks > 0, rank.ranks);
  CHECK_INVARIANT(rank.rank >= 0, rank.rank);
  CHECK_INVARIANT(rank.rank < rank.ranks, rank.rank, rank.ranks);
  if (count % rank.ranks == 0) return {count / rank.ranks, {}, {}};
  return refused<std::int64_t>(
      std::to_string(count) + ' ' + what + " cannot be shared by " + std::to_string(rank.ranks) + " ranks",
      "use a number of ranks that divides them");
}

}  // namespace

std::int64_t row_length(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

std::int64_t num_rows(const Shape& shape) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return row_length(shape) == 0 ? 0 : rows;
}

std::int64_t num_elements(const Shape& shape) { return row_length(shape) * num_rows(shape); }

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ']';
}

Parsed<Bytes> shape_bytes(DType dtype, const Shape& shape) {
  std::int64_t rows = 1;
  bool is_empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) return refused<Bytes>("has a negative dimension in " + to_string(shape), "");
    is_empty = is_empty || shape[i] == 0;
    const bool is_last = i + 1 == shape.size();
    if (!is_last && __builtin_mul_overflow(rows, shape[i], &rows)) {
      return refused<Bytes>("has more than 2^63 elements: " + to_string(shape), "check the shape");
    }
  }
  if (is_empty) return {Bytes{0}, {}, {}};
  return tensor_bytes(dtype, row_length(shape), rows);
}

MatrixView matrix_of(const TensorView& tensor) {
  MatrixView matrix{tensor.dtype,       num_rows(tensor.shape), row_length(tensor.shape), 0, 0,
                    tensor.bytes.data()};
  if (matrix.rows > 0) matrix.row_bytes = tensor.bytes.size() / static_cast<std::size_t>(matrix.rows);
  matrix.stride = matrix.row_bytes;
  return matrix;
}

Parsed<MatrixView> slice_rows(const MatrixView& matrix, TensorRank rank) {
  const Parsed<std::int64_t> rows = share(matrix.rows, "rows", rank);
  if (!rows) return refused<MatrixView>(rows.message, rows.remedy);
  MatrixView slice = matrix;
  slice.rows = *rows.value;
  slice.data += static_cast<std::size_t>(*rows.value * rank.rank) * matrix.stride;
  return {slice, {}, {}};
}

Parsed<MatrixView> slice_columns(const MatrixView& matrix, TensorRank rank) {
  const Parsed<std::int64_t> columns = share(matrix.columns, "columns", rank);
  if (!columns) return refused<MatrixView>(columns.message, columns.remedy);
  const BlockLayout layout = layout_of(matrix.dtype);
  if (*columns.value % layout.block_elements != 0) {
    return refused<MatrixView>("a rank's " + std::to_string(*columns.value) +
                                   " columns are no whole number of " + layout.name + " blocks of " +
                                   std::to_string(layout.block_elements),
                               "use fewer ranks, or weights in a format with smaller blocks");
  }
  MatrixView slice = matrix;
  slice.columns = *columns.value;
  slice.row_bytes = matrix.row_bytes / static_cast<std::size_t>(rank.ranks);
  slice.data += slice.row_bytes * static_cast<std::size_t>(rank.rank);
  return {slice, {}, {}};
}

}  // namespace servetwin
