// Number formats of activations and caches on the device: to float and back, alone or in packs.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

#include "engine/base/check.h"
#include "engine/base/dtype.h"
#include "kernels/cuda/launch.cuh"

namespace servetwin {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

// To nearest, ties to even.
template <class T>
__device__ T from_float(float value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return value;
  }
}

// What one load moves, up to 16 bytes.
template <class T, int size>
struct alignas(sizeof(T[std::size_t{size}])) Pack {
  T values[std::size_t{size}];
};

template <int size, class T>
__device__ Pack<T, size> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, size>*>(from);
}
template <int size, class T>
__device__ void store_pack(T* to, const Pack<T, size>& pack) {
  *reinterpret_cast<Pack<T, size>*>(to) = pack;
}

// Elements in 16 bytes if every row and pointer allows packs, else 1.
template <class T, class... Pointers>
bool fits_packs(std::int64_t width, const Pointers*... pointers) {
  const auto is_aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return width * static_cast<std::int64_t>(sizeof(T)) % 16 == 0 && (is_aligned(pointers) && ...);
}

// Calls function(T{}) with the C++ type of an activation's dtype.
template <class Function>
void with_float_type(DType dtype, Function function) {
  if (dtype == DType::kF32) return function(float{});
  if (dtype == DType::kF16) return function(__half{});
  CHECK_INVARIANT(dtype == DType::kBF16, name_of(dtype));
  function(__nv_bfloat16{});
}

}  // namespace servetwin
