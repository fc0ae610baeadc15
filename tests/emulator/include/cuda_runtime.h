// Stands in for the toolkit's header of this name when kernels are compiled as host C++ for the emulator.
#pragma once

// All standard headers come before the names that the toolkit takes for itself.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/emulator/checker.h"
#include "tests/emulator/machine.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __constant__ static
#define __shared__ static __attribute__((section("emu_shared")))
#define threadIdx (::servetwin::emulator::thread_index())
#define blockIdx (::servetwin::emulator::block_index())
#define blockDim (::servetwin::emulator::block_size())
#define gridDim (::servetwin::emulator::grid_size())
#define warpSize 32

using dim3 = servetwin::emulator::Index;
using std::max;
using std::min;

template <class... Parameters, class... Arguments>
void emulated_launch(void (*kernel)(Parameters...),
                     dim3 grid,
                     dim3 block,
                     std::size_t shared_bytes,
                     const Arguments&... arguments) {
  servetwin::emulator::launch(grid, block, shared_bytes,
                              [&] { kernel(static_cast<Parameters>(arguments)...); });
}

inline void __syncthreads(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  servetwin::emulator::block_barrier({file, line});
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU,
                       int line = __builtin_LINE(),
                       const char* file = __builtin_FILE()) {
  servetwin::emulator::warp_barrier(mask, {file, line});
}

namespace servetwin::emulator {

template <class T>
T shuffle(const char* name, unsigned mask, T value, unsigned source, Place place) {
  T result{};
  collective(name, mask, place, {&value, &result, sizeof(T), source}, complete_shuffle);
  return result;
}

inline unsigned ballot(const char* name, unsigned mask, bool predicate, Place place) {
  unsigned result = 0;
  collective(name, mask, place, {nullptr, &result, sizeof result, predicate ? 1U : 0U}, complete_ballot);
  return result;
}

// Lanes beyond the part of the warp read themselves.
inline unsigned source_lane(unsigned lane, unsigned width) {
  const unsigned own = lane_index();
  return lane / width == own / width ? lane : own;
}

}  // namespace servetwin::emulator

template <class T>
T __shfl_sync(unsigned mask,
              T value,
              int source,
              int width = 32,
              int line = __builtin_LINE(),
              const char* file = __builtin_FILE()) {
  const auto part = static_cast<unsigned>(width);
  const unsigned lane =
      servetwin::emulator::lane_index() / part * part + static_cast<unsigned>(source) % part;
  return servetwin::emulator::shuffle("__shfl_sync", mask, value, lane, {file, line});
}

template <class T>
T __shfl_xor_sync(unsigned mask,
                  T value,
                  int bits,
                  int width = 32,
                  int line = __builtin_LINE(),
                  const char* file = __builtin_FILE()) {
  const unsigned lane = servetwin::emulator::lane_index() ^ static_cast<unsigned>(bits);
  return servetwin::emulator::shuffle("__shfl_xor_sync", mask, value,
                                      servetwin::emulator::source_lane(lane, static_cast<unsigned>(width)),
                                      {file, line});
}

template <class T>
T __shfl_down_sync(unsigned mask,
                   T value,
                   unsigned delta,
                   int width = 32,
                   int line = __builtin_LINE(),
                   const char* file = __builtin_FILE()) {
  const unsigned lane = servetwin::emulator::lane_index() + delta;
  return servetwin::emulator::shuffle("__shfl_down_sync", mask, value,
                                      servetwin::emulator::source_lane(lane, static_cast<unsigned>(width)),
                                      {file, line});
}

template <class T>
T __shfl_up_sync(unsigned mask,
                 T value,
                 unsigned delta,
                 int width = 32,
                 int line = __builtin_LINE(),
                 const char* file = __builtin_FILE()) {
  const unsigned lane = servetwin::emulator::lane_index() - delta;  // wraps around below lane 0
  return servetwin::emulator::shuffle("__shfl_up_sync", mask, value,
                                      servetwin::emulator::source_lane(lane, static_cast<unsigned>(width)),
                                      {file, line});
}

inline unsigned __ballot_sync(unsigned mask,
                              int predicate,
                              int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  return servetwin::emulator::ballot("__ballot_sync", mask, predicate != 0, {file, line});
}
inline int __any_sync(unsigned mask,
                      int predicate,
                      int line = __builtin_LINE(),
                      const char* file = __builtin_FILE()) {
  return servetwin::emulator::ballot("__any_sync", mask, predicate != 0, {file, line}) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask,
                      int predicate,
                      int line = __builtin_LINE(),
                      const char* file = __builtin_FILE()) {
  return servetwin::emulator::ballot("__all_sync", mask, predicate != 0, {file, line}) == mask ? 1 : 0;
}

#include <emulated_device_functions.h>
