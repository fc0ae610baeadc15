// A soft limit of logits. Cost: soft_cap_cost.h.
#pragma once

#include <cstdint>

#include "kernels/vectors/dispatch.h"

namespace servetwin {

// values[i] = cap · tanh(values[i] / cap), in place.
inline void soft_cap(float* values, float cap, std::int64_t size) {
  vector_kernels().soft_cap(values, cap, size);
}

}  // namespace servetwin
