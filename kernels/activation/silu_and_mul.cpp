// Element by element.
#include "kernels/activation/silu_and_mul.h"

#include <cmath>

namespace servetwin {

void silu_and_mul(float* gate, const float* up, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) gate[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

}  // namespace servetwin
