// FLOPs and bytes of a fused residual addition and RMS norm over rows of `hidden` elements.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Reads input and residual, writes output and residual; add, square, sum and two products an element.
constexpr Work rms_norm_work(double rows, double hidden, double activation_bytes) {
  return {5.0 * rows * hidden, 4.0 * rows * hidden * activation_bytes};
}

}  // namespace servetwin
