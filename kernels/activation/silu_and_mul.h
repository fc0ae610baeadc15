// The gated activation of Llama's feed-forward part. Cost: silu_and_mul_cost.h.
#pragma once

#include <cstdint>

namespace servetwin {

// gate[i] = silu(gate[i]) · up[i], silu(x) = x / (1 + exp(−x)).
void silu_and_mul(float* gate, const float* up, std::int64_t size);

}  // namespace servetwin
