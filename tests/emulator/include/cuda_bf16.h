// Stands in for the toolkit's header of this name: bfloat16 numbers, stored and converted.
#pragma once

#include <cuda_runtime.h>

#include "engine/base/dequantise.h"
#include "kernels/attention/kv_elements.h"

struct __nv_bfloat16 {
  unsigned short bits;
};

inline float __bfloat162float(__nv_bfloat16 value) { return servetwin::bfloat16_to_float(value.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return {servetwin::float_to_bfloat16(value)}; }
