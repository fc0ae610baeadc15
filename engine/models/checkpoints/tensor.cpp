// All arithmetic on sizes from files is checked for overflow here, and nowhere else.
#include "engine/models/checkpoints/tensor.h"

#include <utility>

namespace servetwin {
namespace {

template <class T>
Parsed<T> refused(std::string message, std::string remedy) {
  return {std::nullopt, std::move(message), std::move(remedy)};
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

}  // namespace servetwin
