// Launch of the choice of experts on a device; router.h says what it computes.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"
#include "kernels/moe/router.h"

namespace servetwin {

// All pointers are the device's; `correction` may be null.
struct RouterTokens {
  std::int64_t tokens = 0;
  const float* logits = nullptr;      // [tokens][experts]
  const float* correction = nullptr;  // [experts]
  std::int32_t* ids = nullptr;        // [tokens][top_k]
  float* weights = nullptr;           // [tokens][top_k]
};

void route_cuda(const RouterOptions& options, const RouterTokens& tokens, CudaStream stream = {});

}  // namespace servetwin
