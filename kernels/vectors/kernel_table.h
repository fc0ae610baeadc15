// Every inner loop for one kind of vector.
#pragma once

#include "kernels/vectors/attend.h"
#include "kernels/vectors/elementwise.h"
#include "kernels/vectors/kernels.h"
#include "kernels/vectors/multiply.h"

namespace servetwin {

template <class F>
constexpr VectorKernels kernel_table(const char* name) {
  return {name, multiply<F>, attend<F>, silu_and_mul<F>, gelu_and_mul<F>, rms_norm<F>, exponentials<F>};
}

}  // namespace servetwin
