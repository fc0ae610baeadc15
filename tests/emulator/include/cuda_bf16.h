// Stands in for the toolkit's header of this name: bfloat16 numbers, stored and converted.
#pragma once

#include <cuda_runtime.h>

#include "engine/base/dequantise.h"
#include "kernels/attention/kv_elements.h"

// Assigned as __half is.
struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(unsigned short raw) : bits(raw) {}
  __nv_bfloat16(const __nv_bfloat16&) = default;
  __nv_bfloat16& operator=(const __nv_bfloat16& other) {
    bits = other.bits;
    return *this;
  }
  unsigned short bits;
};

inline float __bfloat162float(__nv_bfloat16 value) { return servetwin::bfloat16_to_float(value.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return __nv_bfloat16(servetwin::float_to_bfloat16(value));
}
