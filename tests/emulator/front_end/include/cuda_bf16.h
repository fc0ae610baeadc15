// bfloat16 numbers for the front end.
#pragma once

#include <cuda_runtime.h>

struct __nv_bfloat16 {
  unsigned short bits;
};

__device__ float __bfloat162float(__nv_bfloat16 value);
__device__ __nv_bfloat16 __float2bfloat16_rn(float value);
