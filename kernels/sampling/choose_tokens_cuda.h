// Launch of the choice of tokens on a device, without a sort; engine/decoding/sampler.h says what it
// computes.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"

namespace servetwin {

// How one row's token is chosen, after penalties.
struct RowChoice {
  float temperature = 0;   // 0: the largest logit, the lowest id of equal ones
  std::int32_t top_k = 0;  // 0: all
  float top_p = 1;
  float min_p = 0;
  float unit = 0;  // the draw, from [0, 1)
};

// All pointers are the device's.
struct TokenChoice {
  std::int64_t rows = 0;
  std::int64_t vocab = 0;
  const float* logits = nullptr;       // [rows][vocab]; −∞: never
  const RowChoice* choices = nullptr;  // [rows]
  std::int32_t* tokens = nullptr;      // [rows]
};

void choose_tokens_cuda(const TokenChoice& choice, CudaStream stream = {});

}  // namespace servetwin
