// Stands in for the toolkit's header of this name: half-precision numbers, stored and converted.
#pragma once

#include <cuda_runtime.h>

#include "engine/base/dequantise.h"
#include "kernels/attention/kv_elements.h"

// It is assigned by a function of its own, because the compiler does not tell the checker when a call's
// result of class type goes straight to memory.
struct __half {
  __half() = default;
  explicit __half(unsigned short raw) : bits(raw) {}
  __half(const __half&) = default;
  __half& operator=(const __half& other) {
    bits = other.bits;
    return *this;
  }
  unsigned short bits;
};

inline float __half2float(__half value) { return servetwin::half_to_float(value.bits); }
inline __half __float2half_rn(float value) { return __half(servetwin::float_to_half(value)); }
inline __half __ushort_as_half(unsigned short bits) { return __half(bits); }
