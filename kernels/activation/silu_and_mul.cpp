// The fastest inner loop of the machine.
#include "kernels/activation/silu_and_mul.h"

#include "kernels/vectors/dispatch.h"

namespace servetwin {

void silu_and_mul(float* gate, const float* up, std::int64_t size) {
  vector_kernels().silu_and_mul(gate, up, size);
}

}  // namespace servetwin
