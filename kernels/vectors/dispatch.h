// Which inner loops this machine can run.
#pragma once

#include <vector>

#include "kernels/vectors/kernels.h"

namespace servetwin {

// Plain C++ first, the fastest last. All have the same results, bit for bit.
const std::vector<VectorKernels>& all_vector_kernels();
inline const VectorKernels& vector_kernels() { return all_vector_kernels().back(); }

}  // namespace servetwin
