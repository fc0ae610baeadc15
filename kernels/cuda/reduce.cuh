// Sums and maxima over the lanes of a warp and the threads of a block, in a fixed order.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/launch.cuh"

namespace servetwin {

// Every lane gets it.
__device__ inline float warp_sum(float value) {
  for (int bits = kWarpSize / 2; bits > 0; bits /= 2) value += __shfl_xor_sync(kAllLanes, value, bits);
  return value;
}

__device__ inline float warp_max(float value) {
  for (int bits = kWarpSize / 2; bits > 0; bits /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, bits));
  }
  return value;
}

// NaN if either is.
__device__ inline float max_or_nan(float a, float b) {
  if (a != a) return a;
  return b != b || b > a ? b : a;
}

__device__ inline float warp_max_or_nan(float value) {
  for (int bits = kWarpSize / 2; bits > 0; bits /= 2) {
    value = max_or_nan(value, __shfl_xor_sync(kAllLanes, value, bits));
  }
  return value;
}

// Every thread gets it; `scratch` is shared memory of a float a warp, free to be used again after a barrier.
__device__ inline float block_sum(float value, float* scratch) {
  value = warp_sum(value);
  if (lane_of_warp() == 0) scratch[warp_of_block()] = value;
  __syncthreads();
  float sum = 0.0F;
  for (int warp = 0; warp < warps_of_block(); ++warp) sum += scratch[warp];
  return sum;
}

}  // namespace servetwin
