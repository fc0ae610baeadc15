// If these fail, tokens go to other experts than their router chose, or with other weights.
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/rng.h"
#include "kernels/activation/gelu_and_mul.h"
#include "kernels/moe/grouped_experts.h"
#include "kernels/moe/router.h"
#include "tests/support/catch.h"

namespace servetwin::moe_test {
namespace {

struct Routed {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

Routed routed(const RouterOptions& options,
              const std::vector<float>& logits,
              const std::vector<float>& correction = {}) {
  const auto tokens = static_cast<std::int64_t>(logits.size()) / options.experts;
  Routed result;
  result.ids.resize(static_cast<std::size_t>(tokens * options.top_k));
  result.weights.resize(result.ids.size());
  route(options, logits.data(), correction.empty() ? nullptr : correction.data(), tokens, result.ids.data(),
        result.weights.data());
  return result;
}

TEST_CASE("softmax routing keeps the share of all experts, or of the chosen ones") {
  RouterOptions options{4, 2};
  const std::vector<float> logits{0.0F, 2.0F, 1.0F, -1.0F, 5.0F, 5.0F, 5.0F, 6.0F};
  const double total = 1 + std::exp(2.0) + std::exp(1.0) + std::exp(-1.0);
  const Routed plain = routed(options, logits);
  CHECK(plain.ids == std::vector<std::int32_t>{1, 2, 3, 0});  // of equal ones the lower id
  CHECK(static_cast<double>(plain.weights[0]) == Approx(std::exp(2.0) / total));
  CHECK(static_cast<double>(plain.weights[1]) == Approx(std::exp(1.0) / total));
  options.renormalise = true;
  options.factor = 3;
  const Routed shares = routed(options, logits);
  CHECK(static_cast<double>(shares.weights[0]) == Approx(3 / (1 + std::exp(-1.0))));
  CHECK(static_cast<double>(shares.weights[0] + shares.weights[1]) == Approx(3.0));
}

TEST_CASE("a correction chooses experts and leaves their weights alone") {
  const RouterOptions options{3, 1, RouterScore::kSigmoid};
  const Routed result = routed(options, {2.0F, 1.0F, 0.0F}, {0.0F, 0.0F, 10.0F});
  CHECK(result.ids == std::vector<std::int32_t>{2});
  CHECK(static_cast<double>(result.weights[0]) == Approx(0.5));
}

TEST_CASE("only experts of the best groups are chosen, by the largest or the two largest scores") {
  RouterOptions options{6, 2, RouterScore::kSigmoid};
  options.groups = 3;
  options.top_groups = 1;
  const std::vector<float> logits{3.0F, -9.0F, 2.0F, 2.5F, -1.0F, -1.0F};
  CHECK(routed(options, logits).ids == std::vector<std::int32_t>{0, 1});
  options.group_score = GroupScore::kTopTwo;
  CHECK(routed(options, logits).ids == std::vector<std::int32_t>{3, 2});
  options.top_groups = 2;
  CHECK(routed(options, logits).ids == std::vector<std::int32_t>{0, 3});
}

std::vector<float> noise(std::uint64_t entity, std::size_t size) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < size; ++i) {
    values.push_back(static_cast<float>(2.0 * draw_unit({9, Stream::kTest, entity}, i) - 1.0));
  }
  return values;
}

WeightMatrix view(const std::vector<float>& values, std::int64_t columns) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
  return {DType::kF32, static_cast<std::int64_t>(values.size()) / columns, columns, bytes.data()};
}

TEST_CASE("a token gets the weighted sum of its experts, with the same bits alone and in a batch") {
  constexpr std::int64_t kHidden = 5;
  constexpr std::int64_t kWidth = 3;
  const std::vector<float> gate = noise(1, 4 * kWidth * kHidden);
  const std::vector<float> up = noise(2, 4 * kWidth * kHidden);
  const std::vector<float> down = noise(3, 4 * kHidden * kWidth);
  const ExpertWeights weights{view(gate, kHidden), view(up, kHidden), view(down, kWidth), 4};
  const std::vector<float> input = noise(4, 3 * kHidden);
  const std::vector<std::int32_t> ids{2, 0, 0, 3, 2, 0};
  const std::vector<float> shares{0.7F, 0.3F, 1.5F, 0.5F, 0.1F, 0.2F};
  ThreadTeam team(2);
  std::vector<float> output(input.size());
  grouped_experts(weights, {3, 2, ids.data(), shares.data()}, input.data(), output.data(), team);
  for (std::size_t token = 0; token < 3; ++token) {
    const float* x = input.data() + token * kHidden;
    std::vector<double> expected(kHidden, 0.0);
    for (std::size_t slot = 0; slot < 2; ++slot) {
      const auto expert = static_cast<std::size_t>(ids[token * 2 + slot]);
      for (std::size_t w = 0; w < kWidth; ++w) {
        double g = 0;
        double u = 0;
        for (std::size_t i = 0; i < kHidden; ++i) {
          g += static_cast<double>(gate[(expert * kWidth + w) * kHidden + i] * x[i]);
          u += static_cast<double>(up[(expert * kWidth + w) * kHidden + i] * x[i]);
        }
        const double inner = g / (1 + std::exp(-g)) * u * static_cast<double>(shares[token * 2 + slot]);
        for (std::size_t i = 0; i < kHidden; ++i)
          expected[i] += inner * static_cast<double>(down[(expert * kHidden + i) * kWidth + w]);
      }
    }
    std::vector<float> alone(kHidden);
    grouped_experts(weights, {1, 2, ids.data() + token * 2, shares.data() + token * 2}, x, alone.data(),
                    team);
    for (std::size_t i = 0; i < kHidden; ++i) {
      CHECK(static_cast<double>(output[token * kHidden + i]) ==
            Approx(expected[i]).epsilon(1e-4).margin(1e-5));
      CHECK(output[token * kHidden + i] == alone[i]);
    }
  }
}

TEST_CASE("gelu_and_mul gates by the tanh form") {
  std::vector<float> gate{0.0F, 1.0F, -2.0F, 30.0F, -200.0F};
  const std::vector<float> up{3.0F, 2.0F, 1.0F, 1.0F, 1.0F};
  gelu_and_mul(gate.data(), up.data(), 5);
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
  };
  CHECK(gate[0] == 0.0F);
  CHECK(static_cast<double>(gate[1]) == Approx(2 * gelu(1)));
  CHECK(static_cast<double>(gate[2]) == Approx(gelu(-2)).epsilon(1e-5));
  CHECK(static_cast<double>(gate[3]) == Approx(30.0));
  CHECK(static_cast<double>(gate[4]) == Approx(0.0).margin(1e-30));
}

}  // namespace
}  // namespace servetwin::moe_test
