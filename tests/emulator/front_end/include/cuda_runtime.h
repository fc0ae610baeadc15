// Declarations that let clang's CUDA front end read the kernels without a toolkit: it knows which functions
// are the device's, which the emulator cannot. Nothing is defined, nothing runs.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __CUDACC__ 1

// clang puts headers of its own before the library's: they use the names above, and malloc.
// clang-format off
#include <cstdlib>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
// clang-format on

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;

using cudaStream_t = struct CUstream_st*;
enum cudaError_t { cudaSuccess };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared_bytes = 0, cudaStream_t = nullptr);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid,
                                                dim3 block,
                                                std::size_t shared_bytes = 0,
                                                void* stream = nullptr);
extern "C" cudaError_t cudaLaunchKernel(const void* kernel,
                                        dim3 grid,
                                        dim3 block,
                                        void** arguments,
                                        std::size_t shared_bytes,
                                        cudaStream_t stream);

__device__ void __syncthreads();
__device__ void __syncwarp(unsigned mask = 0xFFFFFFFFU);
template <class T>
__device__ T __shfl_sync(unsigned mask, T value, int source, int width = 32);
template <class T>
__device__ T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32);
__device__ unsigned __float_as_uint(float value);
__device__ float __uint_as_float(unsigned bits);

template <class T>
__host__ __device__ T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
__host__ __device__ T max(T a, T b) {
  return a < b ? b : a;
}

extern "C" {
__device__ float expf(float x) noexcept;
__device__ float logf(float x) noexcept;
__device__ float tanhf(float x) noexcept;
__device__ float sqrtf(float x) noexcept;
__device__ float fmaxf(float x, float y) noexcept;
__device__ float fminf(float x, float y) noexcept;
__device__ float fabsf(float x) noexcept;
__device__ float rintf(float x) noexcept;
__device__ void sincosf(float x, float* sine, float* cosine) noexcept;
}
