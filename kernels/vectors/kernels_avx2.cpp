// The inner loops in AVX2 with F16C; this file alone is compiled for them.
#if defined(__x86_64__)
#include "kernels/vectors/avx2_floats.h"
#include "kernels/vectors/kernel_table.h"

namespace servetwin {

VectorKernels avx2_kernels() { return kernel_table<Avx2Floats>("avx2"); }

}  // namespace servetwin
#endif
