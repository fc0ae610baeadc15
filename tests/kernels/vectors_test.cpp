// If these fail, two machines give different tokens, or weights in blocks mean something else than their
// values.
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "engine/base/dequantise.h"
#include "engine/base/rng.h"
#include "kernels/gemm/matmul.h"
#include "kernels/lanes.h"
#include "kernels/rotary/turn.h"
#include "kernels/vectors/dispatch.h"
#include "tests/kernels/random_blocks.h"
#include "tests/support/catch.h"

namespace servetwin::vectors_test {
namespace {

std::vector<float> noise(std::uint64_t entity, std::int64_t size, double spread = 1.0) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(size); ++i) {
    values.push_back(static_cast<float>((2.0 * draw_unit({8, Stream::kTest, entity}, i) - 1.0) * spread));
  }
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The reference: each weight in f32, each output one dot product in the order of lanes.h.
std::vector<float> plain_product(const WeightMatrix& weight,
                                 const std::vector<float>& input,
                                 const std::vector<float>& bias) {
  std::vector<float> values(static_cast<std::size_t>(weight.columns));
  const std::int64_t rows = static_cast<std::int64_t>(input.size()) / weight.columns;
  std::vector<float> out(static_cast<std::size_t>(rows * weight.rows));
  for (std::int64_t output = 0; output < weight.rows; ++output) {
    dequantise(weight.dtype, {weight.row(output), weight.row_bytes()}, values);
    for (std::int64_t row = 0; row < rows; ++row) {
      out[static_cast<std::size_t>(row * weight.rows + output)] =
          dot(input.data() + row * weight.columns, values.data(), weight.columns) +
          bias[static_cast<std::size_t>(output)];
    }
  }
  return out;
}

TEST_CASE("products have the bits of plain dot products, for every format, shape, team and kind of vector") {
  const DType type =
      GENERATE(DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
               DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K);
  const std::int64_t unit = layout_of(type).block_elements;
  ThreadTeam one(1);
  ThreadTeam three(3);
  for (const std::int64_t columns : {1L, 7L, 31L, 33L, 100L, 256L, 768L}) {
    if (columns % unit != 0) continue;
    for (const std::int64_t outputs : {1L, 2L, 9L, 27L}) {
      const auto blocks = random_blocks(type, outputs * columns);
      const WeightMatrix weight{type, outputs, columns, blocks.data()};
      const std::vector<float> bias = noise(2, outputs);
      for (const std::int64_t rows : {1L, 2L, 3L, 4L, 7L, 8L}) {
        CAPTURE(name_of(type), columns, outputs, rows);
        const std::vector<float> input = noise(3, rows * columns);
        const std::vector<float> expected = plain_product(weight, input, bias);
        for (const VectorKernels& kernels : all_vector_kernels()) {
          for (ThreadTeam* team : {&one, &three}) {
            std::vector<float> out(expected.size());
            const Product product{weight, bias.data(), out.data()};
            matmul(kernels, {&product, 1}, rows, input.data(), *team);
            if (!same_bits(out, expected)) FAIL_CHECK(kernels.name);
          }
        }
      }
    }
  }
}

TEST_CASE("products with one input are what each alone is") {
  const std::vector<float> weights = noise(4, 50 * 40);
  const std::vector<float> input = noise(5, 3 * 40);
  const WeightMatrix all{DType::kF32, 50, 40, std::as_bytes(std::span(weights)).data()};
  std::vector<float> whole(150);
  std::vector<float> first(3 * 13);
  std::vector<float> second(3 * 37);
  ThreadTeam team(2);
  matmul({all, nullptr, whole.data()}, 3, input.data(), team);
  const Product products[] = {{all.slice(0, 13), nullptr, first.data()},
                              {all.slice(13, 37), nullptr, second.data()}};
  matmul(products, 3, input.data(), team);
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(std::equal(first.begin() + static_cast<int>(row) * 13,
                     first.begin() + static_cast<int>(row + 1) * 13,
                     whole.begin() + static_cast<int>(row) * 50));
    CHECK(std::equal(second.begin() + static_cast<int>(row) * 37,
                     second.begin() + static_cast<int>(row + 1) * 37,
                     whole.begin() + static_cast<int>(row) * 50 + 13));
  }
}

TEST_CASE("exponentials are within 2 ulp, 0 far below, finite far above, and NaN for NaN") {
  std::vector<float> input = noise(6, 20'000, 87.0);
  const std::vector<float> small = noise(7, 20'000, 0.5);
  input.insert(input.end(), small.begin(), small.end());
  std::vector<float> out(input.size());
  for (const VectorKernels& kernels : all_vector_kernels()) {
    kernels.exponential(input.data(), out.data(), static_cast<std::int64_t>(input.size()));
    double worst = 0;
    for (std::size_t i = 0; i < input.size(); ++i) {
      const double exact = std::exp(static_cast<double>(input[i]));
      worst = std::max(worst, std::abs(static_cast<double>(out[i]) - exact) / exact);
    }
    CHECK(worst < 2 * 0x1p-23);
    const float special[] = {0.0F, -HUGE_VALF, -88.0F, HUGE_VALF, NAN};
    float results[5];
    kernels.exponential(special, results, 5);
    CHECK(results[0] == 1.0F);
    CHECK(results[1] == 0.0F);
    CHECK(results[2] == 0.0F);
    CHECK(std::isfinite(results[3]));
    CHECK(std::isnan(results[4]));
  }
}

TEST_CASE("a turn is cosine and sine to 10 places, up to a million radians") {
  double worst = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const double angle = draw_unit({8, Stream::kTest, 12}, i) * (i % 2 == 0 ? 1e6 : 7.0);
    const Turn turn = turn_of(angle);
    worst = std::max({worst, std::abs(turn.cosine - std::cos(angle)), std::abs(turn.sine - std::sin(angle))});
  }
  CHECK(worst < 1e-10);
  CHECK(turn_of(0).cosine == 1.0);
}

TEST_CASE("activations and norms have the same bits for every kind of vector and place in a row") {
  const std::vector<float> x = noise(10, 1003, 20.0);
  const std::vector<float> y = noise(11, 1003);
  const VectorKernels& plain = all_vector_kernels().front();
  for (const VectorKernels& kernels : all_vector_kernels()) {
    for (const auto function : {&VectorKernels::silu_and_mul, &VectorKernels::gelu_and_mul}) {
      std::vector<float> expected = x;
      (plain.*function)(expected.data(), y.data(), 1003);
      std::vector<float> whole = x;
      (kernels.*function)(whole.data(), y.data(), 1003);
      CHECK(same_bits(whole, expected));
      std::vector<float> cut = x;
      (kernels.*function)(cut.data(), y.data(), 5);
      (kernels.*function)(cut.data() + 5, y.data() + 5, 998);
      CHECK(same_bits(cut, expected));
    }
    std::vector<float> capped = x;
    kernels.soft_cap(capped.data(), 15.0F, 1003);
    for (std::size_t i = 0; i < 1003; ++i) {
      const double exact = 15 * std::tanh(static_cast<double>(x[i]) / 15);
      CHECK(static_cast<double>(capped[i]) == Approx(exact).epsilon(1e-5).margin(1e-5));
    }
    std::vector<float> same = x;
    plain.soft_cap(same.data(), 15.0F, 1003);
    CHECK(same_bits(capped, same));
    std::vector<float> expected(1003);
    std::vector<float> out(1003);
    plain.rms_norm(x.data(), y.data(), 1e-5F, expected.data(), 1003);
    kernels.rms_norm(x.data(), y.data(), 1e-5F, out.data(), 1003);
    CHECK(same_bits(out, expected));
    const float scale = 1.0F / std::sqrt(dot(x.data(), x.data(), 1003) / 1003.0F + 1e-5F);
    for (std::size_t i = 0; i < 1003; ++i) CHECK(out[i] == x[i] * scale * y[i]);
  }
}

}  // namespace
}  // namespace servetwin::vectors_test
