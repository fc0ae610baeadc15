// FLOPs and bytes of the gated activation gelu(gate) · up over rows of `width` elements.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Reads two rows of the gate-up product, writes one; the hyperbolic tangent counts as one FLOP of ten.
constexpr Work gelu_and_mul_work(double rows, double width, double activation_bytes) {
  return {10.0 * rows * width, 3.0 * rows * width * activation_bytes};
}

}  // namespace servetwin
