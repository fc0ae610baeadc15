// The gated activation of Gemma's feed-forward part. Cost: gelu_and_mul_cost.h.
#pragma once

#include <cstdint>

namespace servetwin {

// gate[i] = gelu(gate[i]) · up[i], gelu(x) = x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))): the tanh form.
void gelu_and_mul(float* gate, const float* up, std::int64_t size);

}  // namespace servetwin
