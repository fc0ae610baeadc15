// Asks the processor once.
#include "kernels/vectors/dispatch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace servetwin {
namespace {

bool has_avx2() {
#if defined(__x86_64__)
  constexpr unsigned kF16c = 1U << 29U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __builtin_cpu_supports("avx2") != 0 && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
#else
  return false;
#endif
}

std::vector<VectorKernels> supported() {
  std::vector<VectorKernels> kernels{portable_kernels()};
#if defined(__x86_64__)
  if (has_avx2()) kernels.push_back(avx2_kernels());
#endif
  return kernels;
}

}  // namespace

const std::vector<VectorKernels>& all_vector_kernels() {
  static const std::vector<VectorKernels> kKernels = supported();
  return kKernels;
}

}  // namespace servetwin
