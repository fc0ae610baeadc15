// The only place where a kernel is launched and where shared memory is named: all else is the same text for
// the device's compiler and for the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "engine/base/check.h"
#include "engine/base/units.h"
#include "kernels/cuda/stream.h"

namespace servetwin {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

struct Launch {
  dim3 blocks;
  int threads = 0;  // a multiple of the warp
  std::size_t shared_bytes = 0;
  CudaStream stream;
};

inline dim3 grid_of(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) {
  return {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

// The kernel runs later, on the stream; a launch that the device refuses breaks an invariant.
template <class... Parameters, class... Arguments>
void launch(const char* name,
            const Launch& how,
            void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  const dim3 threads{static_cast<unsigned>(how.threads), 1, 1};
#ifdef __CUDACC__
  constexpr std::size_t kUsualShared = 48 * 1024;  // bytes; more has to be asked for
  if (how.shared_bytes > kUsualShared) {
    const cudaError_t allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(how.shared_bytes));
    CHECK_INVARIANT(allowed == cudaSuccess, name, cudaGetErrorString(allowed));
  }
  const auto stream = static_cast<cudaStream_t>(how.stream.handle);
  kernel<<<how.blocks, threads, how.shared_bytes, stream>>>(static_cast<Parameters>(arguments)...);
  const cudaError_t error = cudaGetLastError();
  CHECK_INVARIANT(error == cudaSuccess, name, cudaGetErrorString(error));
#else
  CHECK_INVARIANT(how.stream.handle == nullptr, name);
  emulated_launch(kernel, how.blocks, threads, how.shared_bytes, arguments...);
#endif
}

// The block's shared memory, as many bytes as its launch asked for, aligned to 128.
__device__ inline std::byte* dynamic_shared() {
#ifdef __CUDACC__
  extern __shared__ __align__(128) unsigned char bytes[];
  return reinterpret_cast<std::byte*>(bytes);
#else
  return static_cast<std::byte*>(servetwin::emulator::dynamic_shared_bytes());
#endif
}

// Deals out parts of the block's shared memory, each aligned to 128 bytes. On the host it only counts.
class SharedLayout {
 public:
  __host__ __device__ explicit SharedLayout(std::byte* start = nullptr)
      : start_(reinterpret_cast<std::uintptr_t>(start)) {}

  template <class T>
  __host__ __device__ T* take(std::int64_t count) {
    T* const part = reinterpret_cast<T*>(start_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 127) / 128 * 128;
    return part;
  }
  __host__ __device__ std::size_t bytes() const { return used_; }

 private:
  std::uintptr_t start_;
  std::size_t used_ = 0;
};

__device__ inline int thread_of_block() { return static_cast<int>(threadIdx.x); }
__device__ inline int threads_of_block() { return static_cast<int>(blockDim.x); }
__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarpSize; }
__device__ inline int warp_of_block() { return static_cast<int>(threadIdx.x) / kWarpSize; }
__device__ inline int warps_of_block() { return static_cast<int>(blockDim.x) / kWarpSize; }
__device__ inline std::int64_t block_x() { return blockIdx.x; }
__device__ inline std::int64_t block_y() { return blockIdx.y; }
__device__ inline std::int64_t block_z() { return blockIdx.z; }
__device__ inline std::int64_t blocks_x() { return gridDim.x; }

}  // namespace servetwin
