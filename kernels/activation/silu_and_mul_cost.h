// FLOPs and bytes of the gated activation silu(gate) · up over rows of `width` elements.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Reads two rows of the gate-up product, writes one; the exponential counts as one FLOP of five.
constexpr Work silu_and_mul_work(double rows, double width, double activation_bytes) {
  return {5.0 * rows * width, 3.0 * rows * width * activation_bytes};
}

}  // namespace servetwin
