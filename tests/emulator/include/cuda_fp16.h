// Stands in for the toolkit's header of this name: half-precision numbers, stored and converted.
#pragma once

#include <cuda_runtime.h>

#include "engine/base/dequantise.h"
#include "kernels/attention/kv_elements.h"

struct __half {
  unsigned short bits;
};

inline float __half2float(__half value) { return servetwin::half_to_float(value.bits); }
inline __half __float2half_rn(float value) { return {servetwin::float_to_half(value)}; }
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
