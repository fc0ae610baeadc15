// If these fail, CUDA activations or gathered rows differ from their CPU twins.
#include <vector>

#include "kernels/activation/gated_activation_cuda.h"
#include "kernels/activation/gelu_and_mul.h"
#include "kernels/activation/silu_and_mul.h"
#include "kernels/embedding/embedding.h"
#include "tests/emulator/kernel_rig.h"
#include "tests/emulator/mutants.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::elementwise_test {
namespace {

using Activation = void (*)(const GatedRows&, CudaStream);
using ActivationTwin = void (*)(float*, const float*, std::int64_t);

bool gates_match(Activation activation,
                 ActivationTwin twin,
                 DType dtype,
                 std::int64_t rows,
                 std::int64_t width,
                 float scale) {
  std::vector<float> both = noise(1, rows * 2 * width);
  for (float& number : both) number *= scale;
  both = rounded(dtype, both);
  const FloatArray gate_up(dtype, both);
  const FloatArray output(dtype, static_cast<std::size_t>(rows * width));
  activation({rows, width, dtype, gate_up.data(), output.data()}, {});
  std::vector<float> expected;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto gate = both.begin() + row * 2 * width;
    std::vector<float> gates(gate, gate + width);
    twin(gates.data(), &gate[width], width);
    expected.insert(expected.end(), gates.begin(), gates.end());
  }
  return is_close(output.values(), expected, dtype);
}

// The table is the second half of its array, so that a row before it is somebody's.
bool rows_match(decltype(gather_rows_cuda)& gather, DType dtype, std::int64_t width) {
  const std::vector<float> numbers = rounded(dtype, noise(4, 14 * width));
  const std::vector<std::int32_t> ids{6, 0, -1, 3, 3};
  const FloatArray tables(dtype, numbers);
  const auto* const table = static_cast<const std::byte*>(tables.data()) + bytes_of(dtype, 7 * width).value;
  const Buffer<std::int32_t> indices(ids);
  const FloatArray output(dtype, static_cast<std::size_t>(5 * width));
  gather({5, width, dtype, table, indices.data(), output.data()}, {});
  std::vector<float> expected(static_cast<std::size_t>(5 * width), 0.0F);
  const WeightMatrix matrix{dtype, 7, width, table};
  for (std::int64_t row = 0; row < 5; ++row) {
    const std::int32_t id = ids[static_cast<std::size_t>(row)];
    if (id >= 0) embedding(matrix, &id, 1, expected.data() + row * width);
  }
  return output.values() == expected;
}

}  // namespace

TEST_CASE("the CUDA gated activations equal the CPU's, from no rows to more than a block's") {
  under_nine_seeds([](std::uint64_t seed) {
    for (const DType dtype : kFloatTypes) {
      for (const std::int64_t width : {std::int64_t{1}, std::int64_t{64}, some_number(seed, 2, 2, 300)}) {
        CAPTURE(name_of(dtype), width);
        const std::int64_t rows = some_number(seed, 3, 0, 5);
        CHECK(gates_match(silu_and_mul_cuda, silu_and_mul, dtype, rows, width, 3.0F));
        CHECK(gates_match(gelu_and_mul_cuda, gelu_and_mul, dtype, rows, width, 3.0F));
      }
      CHECK(gates_match(silu_and_mul_cuda, silu_and_mul, dtype, 2, 24, 200.0F));
      CHECK(gates_match(gelu_and_mul_cuda, gelu_and_mul, dtype, 2, 24, 200.0F));
    }
  });
}

TEST_CASE("a mutant of the CUDA activations is noticed: a tail that no whole block covers") {
  const auto run = [](Activation activation) {
    return [activation] { return gates_match(activation, silu_and_mul, DType::kF32, 3, 101, 3.0F); };
  };
  CHECK_FALSE(is_noticed(run(silu_and_mul_cuda)));
  CHECK(is_noticed(run(activation_without_tail::silu_and_mul_cuda)));
}

TEST_CASE("CUDA gathers the rows that the CPU embeds, and zeros for padded ones") {
  for (const DType dtype : kFloatTypes) {
    for (const std::int64_t width : {1, 24, 333}) {
      CAPTURE(name_of(dtype), width);
      CHECK(rows_match(gather_rows_cuda, dtype, width));
      CHECK(is_noticed([&] { return rows_match(gather_of_padded_rows::gather_rows_cuda, dtype, width); }));
    }
  }
}

}  // namespace servetwin::emulator::elementwise_test
