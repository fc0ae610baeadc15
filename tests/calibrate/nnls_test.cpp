// If these fail, fitted prices are not those that explain the measurements best, or may be negative.
#include "calibrate/fit/nnls.h"

#include <algorithm>
#include <cmath>

#include "engine/base/rng.h"
#include "tests/support/catch.h"

namespace servetwin::nnls_test {
namespace {

std::vector<double> fit(const std::vector<Observation>& observations) {
  NormalEquations equations(observations.front().x.size());
  for (const Observation& one : observations) equations.add(one);
  return solve_nonnegative(equations);
}

TEST_CASE("where the best line rises, it is the line of least squares") {
  // y = 1 + 2 x with residuals +1, -2, +1, which leave both coefficients as they are.
  const auto line = fit({{{1, 0}, 2, 1}, {{1, 1}, 1, 1}, {{1, 2}, 6, 1}});
  CHECK(line[0] == Approx(1));
  CHECK(line[1] == Approx(2));
}

TEST_CASE("a coefficient that would be negative is 0, and the others are fitted without it") {
  // The best line is 3 - x; with a slope of 0 the mean is best.
  const auto line = fit({{{1, 0}, 3, 1}, {{1, 1}, 2, 1}, {{1, 2}, 1, 1}});
  CHECK(line[0] == Approx(2));
  CHECK(line[1] == 0);
}

TEST_CASE("nothing positive explains negative values") {
  CHECK(fit({{{1, 2}, -3, 1}, {{2, 1}, -1, 1}}) == std::vector<double>{0, 0});
}

TEST_CASE("orthogonal features are fitted each by itself") {
  const auto parts = fit({{{1, 0, 0}, 5, 1}, {{0, 2, 0}, -4, 1}, {{0, 0, 4}, 8, 1}});
  CHECK(parts[0] == Approx(5));
  CHECK(parts[1] == 0);
  CHECK(parts[2] == Approx(2));
}

TEST_CASE("weights count as often as the observation were there") {
  const auto mean = fit({{{1}, 10, 3}, {{1}, 20, 1}});
  CHECK(mean[0] == Approx(12.5));
}

TEST_CASE("a feature that never occurs has no price, and equal features share one") {
  const auto parts = fit({{{1, 0, 1}, 4, 1}, {{2, 0, 2}, 8, 1}, {{3, 0, 3}, 12, 1}});
  CHECK(parts[1] == 0);
  CHECK(parts[0] + parts[2] == Approx(4));
}

TEST_CASE("no other non-negative coefficients explain random observations better") {
  for (std::uint64_t n = 0; n < 40; ++n) {
    const StreamKey key{n, Stream::kTest, 0};
    std::uint32_t draw = 0;
    std::vector<Observation> all;
    for (int i = 0; i < 12; ++i) {
      Observation one{{}, 2 * draw_unit(key, draw++) - 1, 1};
      for (int j = 0; j < 5; ++j) one.x.push_back(2 * draw_unit(key, draw++) - 1);
      all.push_back(one);
    }
    const std::vector<double> best = fit(all);
    const auto error = [&](const std::vector<double>& coefficients) {
      double sum = 0;
      for (const Observation& one : all) sum += std::pow(dot(one.x, coefficients) - one.y, 2);
      return sum;
    };
    for (std::size_t i = 0; i < best.size(); ++i) {
      REQUIRE(best[i] >= 0);
      for (const double step : {1e-4, -1e-4}) {
        std::vector<double> other = best;
        other[i] = std::max(0.0, other[i] + step);
        INFO(n << " feature " << i);
        CHECK(error(other) >= error(best) - 1e-12);
      }
    }
  }
}

TEST_CASE("a few wild observations move a robust fit little") {
  std::vector<Observation> all;
  for (int i = 0; i < 40; ++i)
    all.push_back({{1, static_cast<double>(i)}, 10 + 3.0 * i + (i % 2 ? 1 : -1), 1});
  all[7].y += 1000;
  all[21].y += 4000;
  const auto robust = solve_robustly(all);
  CHECK(std::abs(robust[1] - 3) < 0.05);
  CHECK(std::abs(robust[0] - 10) < 1);
  CHECK(all[21].weight < 0.01);
  CHECK(all[0].weight == 1);
}

TEST_CASE("quantiles lie between neighbours") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == Approx(2.5));
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(quantile({7}, 0.3) == 7);
}

}  // namespace
}  // namespace servetwin::nnls_test
