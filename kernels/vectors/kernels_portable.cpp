// The inner loops in plain C++.
#include "kernels/vectors/kernel_table.h"
#include "kernels/vectors/portable_floats.h"

namespace servetwin {

VectorKernels portable_kernels() { return kernel_table<PortableFloats>("portable"); }

}  // namespace servetwin
