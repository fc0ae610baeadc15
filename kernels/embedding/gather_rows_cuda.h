// Launch of the gathering of rows on a device: embeddings by token id, hidden states of the rows that are
// sampled.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "kernels/cuda/stream.h"

namespace servetwin {

// output[i] = table[indices[i]], rows of `width` elements of `dtype`; zeros where the index is below 0, which
// marks a padded row.
struct RowGather {
  std::int64_t rows = 0;  // of the output
  std::int64_t width = 0;
  DType dtype = DType::kF32;  // f32, f16 or bf16
  const void* table = nullptr;
  const std::int32_t* indices = nullptr;
  void* output = nullptr;
};

void gather_rows_cuda(const RowGather& gather, CudaStream stream = {});

}  // namespace servetwin
