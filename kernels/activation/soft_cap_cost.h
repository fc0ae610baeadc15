// FLOPs and bytes of capping rows of `width` logits in place.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// The exponential counts as one FLOP of eight.
constexpr Work soft_cap_work(double rows, double width, double activation_bytes) {
  return {8.0 * rows * width, 2.0 * rows * width * activation_bytes};
}

}  // namespace servetwin
