// Launch of products of few rows with weights as they are stored; matmul.h says what it computes.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "engine/base/weight_matrix.h"
#include "kernels/cuda/stream.h"

namespace servetwin {

// output[rows][weight.rows] = input[rows][weight.columns] · weightᵀ + bias. Input, output and bias, which may
// be null, are of `dtype`: f32, f16 or bf16; the weights may also be Q4_0, Q4_1, Q8_0, Q4_K or Q6_K. Sums are
// in f32. All pointers are the device's, the weight's too.
struct FewRowsProduct {
  WeightMatrix weight{};
  std::int64_t rows = 0;
  DType dtype = DType::kF32;
  const void* input = nullptr;
  const void* bias = nullptr;
  void* output = nullptr;
};

bool is_matvec_dtype(DType weight);
void matvec_cuda(const FewRowsProduct& product, CudaStream stream = {});

}  // namespace servetwin
