// If these fail, the CUDA norm computes something else than its CPU twin, or its result depends on who runs
// first.
#include <vector>

#include "kernels/norm/rms_norm_cuda.h"
#include "tests/emulator/kernel_rig.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::norm_test {
namespace {

struct NormCase {
  RmsNormOptions options;
  DType dtype = DType::kF32;
  std::vector<float> input{};
  std::vector<float> residual{};
  std::vector<float> weight{};
};

NormCase norm_case(DType dtype, std::int64_t rows, std::int64_t width, float scale = 1.0F) {
  NormCase result{{rows, width}, dtype};
  result.input = noise(1, rows * width);
  result.residual = noise(2, rows * width);
  for (float& value : result.input) value *= scale;
  for (float& value : result.residual) value *= scale;
  result.input = rounded(dtype, result.input);
  result.residual = rounded(dtype, result.residual);
  result.weight = rounded(dtype, noise(3, width));
  return result;
}

bool plain_matches(const NormCase& c) {
  const FloatArray input(c.dtype, c.input);
  const FloatArray weight(c.dtype, c.weight);
  const FloatArray output(c.dtype, c.input.size());
  rms_norm_cuda(c.options, c.dtype, input.data(), weight.data(), output.data());
  std::vector<float> expected(c.input.size());
  rms_norm(c.options, c.input.data(), c.weight.data(), expected.data());
  return is_close(output.values(), expected, c.dtype);
}

bool fused_matches(const NormCase& c) {
  const FloatArray input(c.dtype, c.input);
  const FloatArray residual(c.dtype, c.residual);
  const FloatArray weight(c.dtype, c.weight);
  const FloatArray output(c.dtype, c.input.size());
  add_rms_norm_cuda(c.options, c.dtype, input.data(), residual.data(), weight.data(), output.data());
  std::vector<float> sum = c.residual;
  std::vector<float> expected(c.input.size());
  add_rms_norm(c.options, c.input.data(), sum.data(), c.weight.data(), expected.data());
  const std::vector<float> kept = rounded(c.dtype, sum);
  std::vector<float> of_kept(c.input.size());
  rms_norm(c.options, kept.data(), c.weight.data(), of_kept.data());
  return residual.values() == kept && is_close(output.values(), expected, rounded(c.dtype, of_kept));
}

}  // namespace

TEST_CASE("the CUDA norms equal the CPU's for widths of packs, of odd sizes and of one") {
  under_nine_seeds([](std::uint64_t seed) {
    for (const DType dtype : kFloatTypes) {
      for (const std::int64_t width : {std::int64_t{1}, std::int64_t{64}, some_number(seed, 0, 2, 700)}) {
        CAPTURE(name_of(dtype), width);
        const NormCase c = norm_case(dtype, some_number(seed, 1, 1, 4), width);
        CHECK(plain_matches(c));
        CHECK(fused_matches(c));
      }
    }
  });
}

TEST_CASE("the CUDA norms bear zeros, tiny and huge numbers, and no rows") {
  for (const DType dtype : kFloatTypes) {
    for (const float scale : {0.0F, 1e-6F, 1e4F}) {
      CAPTURE(name_of(dtype), scale);
      CHECK(plain_matches(norm_case(dtype, 2, 40, scale)));
      CHECK(fused_matches(norm_case(dtype, 2, 40, scale)));
    }
    CHECK(fused_matches(norm_case(dtype, 0, 40)));
  }
  CHECK(plain_matches(norm_case(DType::kF32, 1, 33, 1e18F)));
}

TEST_CASE("no barrier of the CUDA norm can go") {
  check_no_barrier_can_go(1, [] { return fused_matches(norm_case(DType::kF32, 3, 300)); });
}

}  // namespace servetwin::emulator::norm_test
