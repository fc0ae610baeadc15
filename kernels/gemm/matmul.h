// Products with a weight matrix in f32. Cost: gemm_cost.h.
#pragma once

#include <cstdint>

#include "kernels/thread_team.h"

namespace servetwin {

struct MatmulShape {
  std::int64_t rows = 0;    // tokens
  std::int64_t inputs = 0;  // of a row
  std::int64_t outputs = 0;
};

// output[rows][outputs] = input[rows][inputs] · weight[outputs][inputs]ᵀ (+ bias[outputs] unless null). Each
// element is one dot product in a fixed order, so a row is the same in every batch and for every team.
void matmul(const MatmulShape& shape,
            const float* input,
            const float* weight,
            const float* bias,
            float* output,
            ThreadTeam& team);

}  // namespace servetwin
