// The inner loops that exist once for each kind of vector, as plain functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/dtype.h"

namespace servetwin {

// output[row][first..end) of input · weightᵀ + bias. Rows of input are `input_stride` floats apart, a
// multiple of 32 beyond `columns`, filled up with zeros.
struct MultiplyTask {
  DType dtype = DType::kF32;
  const std::byte* weight = nullptr;
  std::size_t row_bytes = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;  // or null
  const float* input = nullptr;
  std::int64_t input_stride = 0;
  std::int64_t rows = 0;
  std::int64_t first = 0;  // rows of the weight
  std::int64_t end = 0;
  float* output = nullptr;
  std::int64_t output_stride = 0;
  float* scratch = nullptr;  // kPanel · input_stride floats
};

inline constexpr std::int64_t kPanel = 8;  // rows of the weight that are decoded together

// Keys and values of one head in a paged cache, which one query sees.
struct AttendTask {
  DType dtype = DType::kF32;  // of the cache
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
  const float* key_scales = nullptr;  // for 8 bits: one a slot and head
  const float* value_scales = nullptr;
  const std::int32_t* table = nullptr;
  std::int64_t block_size = 0;
  std::int64_t kv_heads = 0;
  std::int64_t kv_head = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  float scale = 0;
  float soft_cap = 0;      // 0: none
  std::int64_t first = 0;  // keys [first, end) are seen
  std::int64_t end = 0;
  const float* query = nullptr;
  float* output = nullptr;
  float* scratch = nullptr;  // attend_scratch floats
};

inline constexpr std::int64_t kKeyTile = 64;  // keys; part of the results

constexpr std::int64_t attend_scratch(std::int64_t head_dim, std::int64_t value_dim) {
  return (head_dim + 7) / 8 * 8 + (value_dim + 7) / 8 * 8 + kKeyTile;
}

struct VectorKernels {
  const char* name = nullptr;
  void (*multiply)(const MultiplyTask& task) = nullptr;
  void (*attend)(const AttendTask& task) = nullptr;
  void (*silu_and_mul)(float* gate, const float* up, std::int64_t size) = nullptr;
  void (*gelu_and_mul)(float* gate, const float* up, std::int64_t size) = nullptr;
  // output = input / sqrt(mean(input²) + epsilon) · weight, of one row.
  void (*rms_norm)(
      const float* input, const float* weight, float epsilon, float* output, std::int64_t width) = nullptr;
  void (*soft_cap)(float* values, float cap, std::int64_t size) = nullptr;
  void (*exponential)(const float* input, float* output, std::int64_t size) = nullptr;
};

// What the files for one instruction set define.
VectorKernels portable_kernels();
VectorKernels avx2_kernels();

}  // namespace servetwin
