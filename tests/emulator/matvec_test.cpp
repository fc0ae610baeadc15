// If these fail, CUDA products decode stored weights otherwise than their CPU twin, or leave some out.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/gemm/matmul.h"
#include "tests/emulator/kernel_rig.h"
#include "tests/emulator/mutants.h"
#include "tests/kernels/random_blocks.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::matvec_test {
namespace {

constexpr DType kStored[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                             DType::kQ4_1, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K};

struct Shape {
  DType stored = DType::kF32;
  DType dtype = DType::kF32;
  std::int64_t outputs = 1;
  std::int64_t columns = 1;
  std::int64_t rows = 1;
  bool has_bias = false;
};

bool matches(const Shape& shape, decltype(matvec_cuda)& function = matvec_cuda) {
  const std::vector<std::byte> blocks = random_blocks(shape.stored, shape.outputs * shape.columns);
  const std::vector<float> input = rounded(shape.dtype, noise(1, shape.rows * shape.columns));
  const std::vector<float> bias = rounded(shape.dtype, noise(2, shape.outputs));
  // The granule of the checker is what the formats' parts have in common.
  WatchedBytes weight(blocks.size(), 1, "the weight");
  std::copy(blocks.begin(), blocks.end(), static_cast<std::byte*>(weight.data()));
  weight.set_written();
  const FloatArray input_there(shape.dtype, input);
  const FloatArray bias_there(shape.dtype, bias);
  const FloatArray output(shape.dtype, static_cast<std::size_t>(shape.rows * shape.outputs));
  const auto* const there = static_cast<const std::byte*>(weight.data());
  function({{shape.stored, shape.outputs, shape.columns, there},
            shape.rows,
            shape.dtype,
            input_there.data(),
            shape.has_bias ? bias_there.data() : nullptr,
            output.data()},
           {});
  std::vector<float> expected(static_cast<std::size_t>(shape.rows * shape.outputs));
  ThreadTeam team(1);
  if (shape.rows > 0) {
    matmul({{shape.stored, shape.outputs, shape.columns, blocks.data()},
            shape.has_bias ? bias.data() : nullptr,
            expected.data()},
           shape.rows, input.data(), team);
  }
  return is_close(output.values(), expected, shape.dtype);
}

}  // namespace

TEST_CASE("CUDA products with stored weights equal the CPU's, for every format and type") {
  under_nine_seeds([](std::uint64_t seed) {
    for (const DType stored : kStored) {
      Shape shape;
      shape.stored = stored;
      shape.dtype = kFloatTypes[seed % 3];
      const std::int64_t elements = layout_of(stored).block_elements;
      shape.columns = elements * some_number(seed, 4, 1, elements == 1 ? 300 : 512 / elements);
      shape.outputs = some_number(seed, 5, 1, 11);
      shape.rows = some_number(seed, 6, 0, 6);
      shape.has_bias = seed % 2 == 0;
      CAPTURE(name_of(stored), name_of(shape.dtype), shape.columns, shape.outputs, shape.rows);
      CHECK(is_matvec_dtype(stored));
      CHECK(matches(shape));
    }
  });
  CHECK_FALSE(is_matvec_dtype(DType::kQ5_K));
}

TEST_CASE("a mutant of the CUDA products is noticed: the last row of the weight left out") {
  Shape shape{DType::kQ4_0, DType::kF32, 6, 64, 2, false};
  CHECK(matches(shape));
  CHECK(is_noticed([&] { return matches(shape, matvec_without_last_row::matvec_cuda); }));
}

}  // namespace servetwin::emulator::matvec_test
