// Every inner loop for one kind of vector, with the choice of number format outside the loops.
#pragma once

#include "kernels/vectors/attend.h"
#include "kernels/vectors/elementwise.h"
#include "kernels/vectors/kernels.h"
#include "kernels/vectors/multiply.h"

namespace servetwin {

template <class F>
void multiply(const MultiplyTask& task) {
  const Multiplier<F> multiplier(task);
  switch (task.dtype) {
    case DType::kF16:
      return multiplier.template run<F16Format<F>>();
    case DType::kBF16:
      return multiplier.template run<Bf16Format<F>>();
    case DType::kQ4_0:
      return multiplier.template run<SmallFormat<F, false, false>>();
    case DType::kQ4_1:
      return multiplier.template run<SmallFormat<F, true, false>>();
    case DType::kQ5_0:
      return multiplier.template run<SmallFormat<F, false, true>>();
    case DType::kQ5_1:
      return multiplier.template run<SmallFormat<F, true, true>>();
    case DType::kQ8_0:
      return multiplier.template run<Q8_0Format<F>>();
    case DType::kQ4_K:
      return multiplier.template run<KFormat<F, false>>();
    case DType::kQ5_K:
      return multiplier.template run<KFormat<F, true>>();
    case DType::kQ6_K:
      return multiplier.template run<Q6KFormat<F>>();
    default:
      return multiplier.template run<F32Format<F>>();
  }
}

template <class F>
void attend(const AttendTask& task) {
  switch (task.dtype) {
    case DType::kBF16:
      return Attender<F, Bf16Elements<F>>(task).run();
    case DType::kF16:
      return Attender<F, F16Elements<F>>(task).run();
    case DType::kI8:
      return Attender<F, Int8Elements<F>>(task).run();
    case DType::kF8E4M3:
      return Attender<F, Fp8Elements<F>>(task).run();
    default:
      return Attender<F, F32Elements<F>>(task).run();
  }
}

template <class F>
constexpr VectorKernels kernel_table(const char* name) {
  return {name,        multiply<F>, attend<F>,      silu_and_mul<F>, gelu_and_mul<F>,
          rms_norm<F>, soft_cap<F>, exponentials<F>};
}

}  // namespace servetwin
