// Stands in for the toolkit's header of this name: the conversions of 8-bit floats.
#pragma once

#include <cuda_fp16.h>

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
using __nv_fp8_storage_t = unsigned char;

struct __half_raw {
  unsigned short x;
};

// Saturates: the one way that kernels use it.
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t, __nv_fp8_interpretation_t) {
  return servetwin::float_to_e4m3(value);
}

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  float value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 8),
                           (exponent == 0 ? 1 : exponent) - 10);
  if ((bits & 127) == 127) value = std::numeric_limits<float>::quiet_NaN();
  return {servetwin::float_to_half((bits & 128) != 0 ? -value : value)};
}
