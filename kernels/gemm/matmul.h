// Products with weights as they are stored. Cost: gemm_cost.h.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/weight_matrix.h"
#include "kernels/thread_team.h"
#include "kernels/vectors/kernels.h"

namespace servetwin {

// output[rows][weight.rows] = input[rows][weight.columns] · weightᵀ (+ bias[weight.rows] unless null).
struct Product {
  WeightMatrix weight;
  const float* bias = nullptr;
  float* output = nullptr;
};

// Each element is one dot product in a fixed order with the weights' values in f32 (dequantise.h), so a row
// is the same in every batch and for every team.
void matmul(const Product& product, std::int64_t rows, const float* input, ThreadTeam& team);
// Several products with one input: the threads meet once.
void matmul(std::span<const Product> products, std::int64_t rows, const float* input, ThreadTeam& team);
// With inner loops that the caller chose.
void matmul(const VectorKernels& kernels,
            std::span<const Product> products,
            std::int64_t rows,
            const float* input,
            ThreadTeam& team);

}  // namespace servetwin
