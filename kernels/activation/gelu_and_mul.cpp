// Element by element.
#include "kernels/activation/gelu_and_mul.h"

#include <cmath>

namespace servetwin {
namespace {

constexpr float kRootOfTwoOverPi = 0.7978845608028654F;
constexpr float kCubic = 0.044715F;

}  // namespace

void gelu_and_mul(float* gate, const float* up, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const float x = gate[i];
    const float inner = kRootOfTwoOverPi * (x + kCubic * (x * x * x));
    gate[i] = 0.5F * x * (1.0F + std::tanh(inner)) * up[i];
  }
}

}  // namespace servetwin
