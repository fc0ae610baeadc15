// What the tests of kernels share: arrays of any float type, the tolerance, and the dropping of barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/dtype.h"
#include "tests/emulator/checker.h"
#include "tests/kernels/kernel_inputs.h"

namespace servetwin::emulator {

// An array of the device, of f32, f16 or bf16.
class FloatArray {
 public:
  FloatArray(DType dtype, const std::vector<float>& values);  // rounds them
  FloatArray(DType dtype, std::size_t count);                 // not to be read before it is written

  void* data() const { return bytes_.data(); }
  // As they are stored, widened.
  std::vector<float> values() const;

 private:
  DType dtype_;
  std::size_t count_;
  WatchedBytes bytes_;
};

// As an array of that type keeps them.
std::vector<float> rounded(DType dtype, const std::vector<float>& values);

// A whole number of [low, high], one for each name and index.
std::int64_t some_number(std::uint64_t name, std::uint32_t index, std::int64_t low, std::int64_t high);

// Element `i` of a cache's bytes, without its scale.
float cached_number(DType dtype, const std::byte* bytes, std::size_t i);

inline constexpr DType kFloatTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

// The largest error of `values` against the same computed in f32 is at most twice that of `plain`, the plain
// way in low precision, and 1e-5 of the largest number; infinite and NaN are where they were.
bool is_close(const std::vector<float>& values,
              const std::vector<float>& exact,
              const std::vector<float>& plain);
// Where the plain way is to round the results to `dtype`.
bool is_close(const std::vector<float>& values, const std::vector<float>& exact, DType dtype);

// Checks that each barrier that `run` meets is noticed when it alone is dropped, under several seeds. Says
// that it does not where the checker is not told of accesses.
void check_no_barrier_can_go(std::size_t barriers, const std::function<bool()>& run);

// Whether a Fault or a false answer of `run` gives a mutant away.
bool is_noticed(const std::function<bool()>& run);

// Under nine seeds, three of each manner.
void under_nine_seeds(const std::function<void(std::uint64_t)>& check);

}  // namespace servetwin::emulator
