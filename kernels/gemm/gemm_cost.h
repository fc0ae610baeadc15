// FLOPs and bytes of C[m,n] = A[m,k] · B[k,n], with B the weights.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

struct GemmShape {
  double m = 0;  // tokens
  double n = 0;
  double k = 0;
};

// Each matrix passes once: A and C in `activation_bytes` an element, B in `weight_bytes` an element, which is
// bits_per_element / 8 for weights in blocks: they are read as they are stored, however many rows use them.
constexpr Work gemm_work(GemmShape shape, double weight_bytes, double activation_bytes) {
  return {2.0 * shape.m * shape.n * shape.k,
          shape.n * shape.k * weight_bytes + shape.m * (shape.n + shape.k) * activation_bytes};
}

}  // namespace servetwin
