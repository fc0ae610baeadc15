// Elements of a KV cache on the device: those of activations, and 8-bit ones whose vectors have a scale each.
#pragma once

#include <cuda_fp8.h>

#include "kernels/attention/paged_cache.h"
#include "kernels/cuda/floats.cuh"

namespace servetwin {

enum class CachedI8 : signed char {};
enum class CachedE4m3 : unsigned char {};

__device__ inline float to_float(CachedI8 value) {
  return static_cast<float>(static_cast<signed char>(value));
}
__device__ inline float to_float(CachedE4m3 value) {
  return __half2float(
      __ushort_as_half(__nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(value), __NV_E4M3).x));
}

template <class C>
inline constexpr bool kHasScale = std::is_same_v<C, CachedI8> || std::is_same_v<C, CachedE4m3>;

// The scale of a vector by its largest magnitude, which may be NaN; 1 where the format has none.
template <class C>
__device__ float scale_of_vector(float magnitude) {
  if constexpr (!kHasScale<C>) return 1.0F;
  if (magnitude == 0.0F) return 1.0F;
  return magnitude / (std::is_same_v<C, CachedI8> ? 127.0F : 448.0F);
}

// To nearest, ties to even; `scale` is scale_of_vector's.
template <class C>
__device__ C to_cached(float value, float scale) {
  if constexpr (std::is_same_v<C, CachedI8>) {
    const float whole = rintf(value / scale);
    return static_cast<CachedI8>(static_cast<signed char>(whole == whole ? whole : 0.0F));
  } else if constexpr (std::is_same_v<C, CachedE4m3>) {
    return static_cast<CachedE4m3>(__nv_cvt_float_to_fp8(value / scale, __NV_SATFINITE, __NV_E4M3));
  } else {
    return from_float<C>(value);
  }
}

// Calls function(T{}, C{}) with the types of activations and cache: the same one, or 8 bits.
template <class Function>
void with_cache_type(DType activation, DType cached, Function function) {
  with_float_type(activation, [&](auto element) {
    if (cached == DType::kI8) return function(element, CachedI8{});
    if (cached == DType::kF8E4M3) return function(element, CachedE4m3{});
    CHECK_INVARIANT(cached == activation, name_of(activation), name_of(cached));
    function(element, element);
  });
}

}  // namespace servetwin
