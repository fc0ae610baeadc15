// Half-precision numbers for the front end.
#pragma once

#include <cuda_runtime.h>

struct __half {
  unsigned short bits;
};

__device__ float __half2float(__half value);
__device__ __half __float2half_rn(float value);
__device__ __half __ushort_as_half(unsigned short bits);
