// If these fail, comparisons claim what their seeds do not show, or with another confidence than they state.
#include "sim/planner/resampling.h"

#include <algorithm>
#include <cmath>

#include "engine/base/rng.h"
#include "engine/base/samplers.h"
#include "tests/support/catch.h"

namespace servetwin::resampling_test {
namespace {

bool near(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::fabs(b); }

TEST_CASE("Student's quantiles are those of the tables") {
  CHECK(near(student_quantile(0.025, 2), 4.302653, 1e-6));
  CHECK(near(student_quantile(0.025, 3), 3.182446, 1e-4));
  CHECK(near(student_quantile(0.025, 4), 2.776445, 1e-4));
  CHECK(near(student_quantile(0.025, 9), 2.262157, 1e-5));
  CHECK(near(student_quantile(0.005, 19), 2.860935, 1e-5));
  CHECK(near(student_quantile(0.0005, 9), 4.780913, 1e-5));
  CHECK(near(student_quantile(0.025, 1000), 1.962339, 1e-6));
}

TEST_CASE("a difference needs as many seeds as make agreement by chance rarer than the level") {
  CHECK(fewest_seeds(0.95) == 6);
  CHECK(fewest_seeds(0.9) == 5);
  CHECK(fewest_seeds(0.99) == 8);
  CHECK(fewest_seeds(0.95, 2) == 7);
  CHECK(fewest_seeds(0.95, 24) == 10);
  CHECK_FALSE(MeanBootstrap(5, 0.95).interval({1, 2, 3, 4, 5}));
  CHECK(MeanBootstrap(6, 0.95).interval({1, 2, 3, 4, 5, 6}));
}

TEST_CASE("equal values have an interval without width, and the same values the same interval") {
  const MeanBootstrap bootstrap(8, 0.95);
  const auto none = bootstrap.interval(std::vector<double>(8, 0.0));
  CHECK((none->low == 0 && none->high == 0));
  const std::vector<double> values = {3, -1, 4, 1, -5, 9, 2, 6};
  const auto a = bootstrap.interval(values);
  const auto b = MeanBootstrap(8, 0.95).interval(values);
  CHECK((a->low == b->low && a->high == b->high));
  CHECK((a->low < 2.375 && 2.375 < a->high));
}

TEST_CASE("an interval is about as wide as Student's") {
  const std::vector<double> values = {-1.5, -1.1, -0.7, -0.3, -0.1, 0.1, 0.3, 0.7, 1.1, 1.5};
  double squares = 0;
  for (const double value : values) squares += value * value;
  const double half = student_quantile(0.025, 9) * std::sqrt(squares / 9 / 10);
  const auto interval = MeanBootstrap(10, 0.95).interval(values);
  CHECK(near(interval->high, half, 0.1));
  CHECK(near(-interval->low, half, 0.1));
}

// How often a 95 % interval of `size` values covers their true mean.
template <class Draw>
double coverage(int size, double truth, Draw draw) {
  constexpr int kTrials = 1000;
  const MeanBootstrap bootstrap(size, 0.95);
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    const StreamKey key{7, Stream::kTest, static_cast<std::uint64_t>(trial)};
    for (int i = 0; i < size; ++i) values.push_back(draw(key, static_cast<std::uint32_t>(i)));
    covered += bootstrap.interval(values)->covers(truth) ? 1 : 0;
  }
  return static_cast<double>(covered) / kTrials;
}

// The standard error of a share of 1,000 trials at 0.95 is 0.007. A skewed distribution is covered less
// often.
TEST_CASE("95 % intervals cover the true mean about as often as they say", "[slow]") {
  const auto normal = [](const StreamKey& key, std::uint32_t i) { return sample_normal(key, i, 3, 2); };
  const auto exponential = [](const StreamKey& key, std::uint32_t i) {
    return sample_exponential(key, i, 5);
  };
  const double normal_10 = coverage(10, 3, normal);
  CAPTURE(normal_10);
  CHECK((normal_10 > 0.92 && normal_10 < 0.98));
  const double normal_30 = coverage(30, 3, normal);
  CAPTURE(normal_30);
  CHECK((normal_30 > 0.93 && normal_30 < 0.97));
  const double skewed = coverage(20, 5, exponential);
  CAPTURE(skewed);
  CHECK((skewed > 0.88 && skewed < 0.97));
}

TEST_CASE("the sign-flip p counts the choices of signs that are as far from zero") {
  CHECK(sign_flip_p({}) == 1);
  CHECK(sign_flip_p({0, 0, 0, 0}) == 1);
  CHECK(sign_flip_p({1, 2, 3, 4, 5, 6}) == 2.0 / 64);
  CHECK(sign_flip_p({-0.1, -0.2, -0.3}) == 2.0 / 8);
  // Sums of ±1 ±2 ±3 of at least 4 from zero: 6, 4, -4, -6.
  CHECK(sign_flip_p({-1, 2, 3}) == 4.0 / 8);
  CHECK(sign_flip_p({5}) == 1);
}

TEST_CASE("with many values the choices are drawn: a clear direction stays clear, none stays none") {
  std::vector<double> clear;
  std::vector<double> none;
  for (int i = 0; i < 20; ++i) {
    clear.push_back(1 + i % 3);
    none.push_back(i % 2 == 0 ? 1.0 : -1.0);
  }
  CHECK(sign_flip_p(clear) < 0.001);
  CHECK(sign_flip_p(none) == 1);
  CHECK(sign_flip_p(clear) == sign_flip_p(clear));
}

// p = 0.01, 0.02, 0.03, 0.4 times 4, 3, 2, 1, never falling.
TEST_CASE("Holm's adjusted p are those of the paper's procedure") {
  const std::vector<double> adjusted = holm_adjusted({0.02, 0.4, 0.01, 0.03});
  CHECK(near(adjusted[2], 0.04, 1e-12));
  CHECK(near(adjusted[0], 0.06, 1e-12));
  CHECK(near(adjusted[3], 0.06, 1e-12));
  CHECK(near(adjusted[1], 0.4, 1e-12));
  CHECK(holm_adjusted({0.9, 0.8}) == std::vector<double>{1, 1});
  CHECK(holm_adjusted({}).empty());
}

TEST_CASE("Jain's index is 1 for equal shares and 1/n when one has all") {
  CHECK(*jain_index({2, 2, 2, 2}) == 1);
  CHECK(*jain_index({8, 0, 0, 0}) == 0.25);
  CHECK(near(*jain_index({1, 2, 3}), 36.0 / (3 * 14), 1e-12));
  CHECK_FALSE(jain_index({0, 0}));
  CHECK_FALSE(jain_index({}));
}

}  // namespace
}  // namespace servetwin::resampling_test
