// A model's numbers in memory: matrices of [outputs][inputs] as the checkpoint stores them, vectors in f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/weight_matrix.h"

namespace servetwin {

using Weights = std::vector<float>;

// Owns what a WeightMatrix views.
struct StoredMatrix {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::byte> bytes;

  bool empty() const { return bytes.empty(); }
  std::int64_t size() const { return rows * columns; }  // elements
  WeightMatrix view() const { return {dtype, rows, columns, bytes.data()}; }
  bool operator==(const StoredMatrix&) const = default;
};

StoredMatrix f32_matrix(std::int64_t rows, std::int64_t columns, const Weights& values);
Weights floats_of(const StoredMatrix& matrix);

}  // namespace servetwin
