// Conversions of 8-bit floats for the front end.
#pragma once

#include <cuda_fp16.h>

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
using __nv_fp8_storage_t = unsigned char;

struct __half_raw {
  unsigned short x;
};

__device__ __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value,
                                                    __nv_saturation_t saturation,
                                                    __nv_fp8_interpretation_t interpretation);
__device__ __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t bits,
                                              __nv_fp8_interpretation_t interpretation);
