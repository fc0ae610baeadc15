// If this fails, sampled values and costs differ between compilers, or are wrong in their last digits.
#include "engine/base/det_math.h"

#include <bit>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

#include "engine/base/digest.h"
#include "engine/base/rng.h"
#include "tests/support/catch.h"

namespace servetwin::det_math_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kDraws = 50'000;

// The error of `got` in units in the last place of the exact value.
double ulps(double got, long double exact) {
  const double magnitude = std::fabs(static_cast<double>(exact));
  const double unit = std::nextafter(magnitude, kInfinity) - magnitude;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact)) / unit;
}

// The worst error over points drawn from low to high, evenly or evenly in the logarithm.
template <class Function, class Exact>
double worst_ulps(Function function, Exact exact, double low, double high, bool logarithmic = false) {
  double worst = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double u = draw_unit({11, Stream::kTest, 0}, i);
    const double x = logarithmic ? low * std::pow(high / low, u) : low + u * (high - low);
    worst = std::fmax(worst, ulps(function(x), exact(static_cast<long double>(x))));
  }
  return worst;
}

TEST_CASE("logarithms are within one unit in the last place over the whole range") {
  const auto log = [](long double x) { return std::log(x); };
  CHECK(worst_ulps(det_log, log, 0.5, 2) < 0.51);
  CHECK(worst_ulps(det_log, log, 1 - 1e-7, 1 + 1e-7) < 0.51);
  CHECK(worst_ulps(det_log, log, 1e-300, 1e300, true) < 0.51);
  CHECK(worst_ulps(det_log, log, 5e-324, 2e-308) < 0.51);
  const auto log2 = [](long double x) { return std::log2(x); };
  CHECK(worst_ulps(det_log2, log2, 0.5, 2) < 0.51);
  CHECK(worst_ulps(det_log2, log2, 1e-300, 1e300, true) < 0.51);
  const auto log1p = [](long double x) { return std::log1p(x); };
  CHECK(worst_ulps(det_log1p, log1p, -0.999, 2) < 0.51);
  CHECK(worst_ulps(det_log1p, log1p, 1e-30, 1e30, true) < 0.51);
}

TEST_CASE("exponentials and powers are within one unit in the last place") {
  const auto exp = [](long double x) { return std::exp(x); };
  CHECK(worst_ulps(det_exp, exp, -1, 1) < 1);
  CHECK(worst_ulps(det_exp, exp, -708, 709.7) < 1);
  CHECK(worst_ulps(det_exp, exp, -745, -708) <= 1);  // results below the normal range
  for (const double y : {-2.5, -1.0, 1e-5, 1.0 / 3, 0.5, 2.0, 17.0, 300.0}) {
    INFO(y);
    const double reach = std::fmin(700 / std::fabs(y), 700.0);
    const auto power = [y](double x) { return det_pow(x, y); };
    const auto exact = [y](long double x) { return std::pow(x, static_cast<long double>(y)); };
    CHECK(worst_ulps(power, exact, std::exp(-reach), std::exp(reach), true) < 1);
  }
}

TEST_CASE("the normal quantile is within two units in the last place from far tail to far tail") {
  const boost::math::normal_distribution<long double> normal;
  const auto exact = [&](long double p) {
    return p < 0.5L ? boost::math::quantile(normal, p)
                    : boost::math::quantile(boost::math::complement(normal, 1 - p));
  };
  CHECK(worst_ulps(det_normal_quantile, exact, 1e-9, 0.499) < 2);
  CHECK(worst_ulps(det_normal_quantile, exact, 0.501, 1 - 1e-9) < 2);
  CHECK(worst_ulps(det_normal_quantile, exact, 1e-300, 0.4, true) < 2);
  CHECK(worst_ulps(det_normal_quantile, exact, 0.5 + 1e-12, 0.6, true) < 2);
}

TEST_CASE("log factorials are exact for small numbers and close for large ones") {
  CHECK(det_log_factorial(0) == 0);
  CHECK(det_log_factorial(1) == 0);
  CHECK(det_log_factorial(5) == det_log(120));
  for (double k = 2; k < 1e9; k = std::floor(k * 1.3) + 1) {
    const long double exact = std::lgamma(static_cast<long double>(k) + 1);
    INFO(k);
    CHECK(std::fabs(static_cast<long double>(det_log_factorial(k)) - exact) < 1e-14L + 1e-12L * exact);
  }
}

TEST_CASE("edges follow the C functions") {
  CHECK(det_log(1) == 0);
  CHECK(det_log(0) == -kInfinity);
  CHECK(std::isnan(det_log(-1)));
  CHECK(det_log(kInfinity) == kInfinity);
  CHECK(det_log2(0x1p-1074) == -1074);
  CHECK(det_log2(0x1p1023) == 1023);
  CHECK(det_log1p(0) == 0);
  CHECK(det_log1p(-1) == -kInfinity);
  CHECK(det_log1p(5e-324) == 5e-324);
  CHECK(det_exp(0) == 1);
  CHECK(det_exp(1000) == kInfinity);
  CHECK(det_exp(-1000) == 0);
  CHECK(std::isnan(det_exp(std::nan(""))));
  CHECK(det_exp(709.782712893384) < kInfinity);
  CHECK(det_exp(709.782712893385) == kInfinity);
  CHECK(det_pow(0, 2) == 0);
  CHECK(det_pow(0, -2) == kInfinity);
  CHECK(det_pow(5, 0) == 1);
  CHECK(det_pow(kInfinity, -1) == 0);
  CHECK(det_pow(0.5, kInfinity) == 0);
  CHECK(det_pow(0.5, -kInfinity) == kInfinity);
  CHECK(std::isnan(det_pow(-8, 1.0 / 3)));
  CHECK(det_pow(2, 1023) == 0x1p1023);
  CHECK(det_pow(2, -1074) == 0x1p-1074);
  CHECK(det_pow(2, 1024) == kInfinity);
  CHECK(det_normal_quantile(0.5) == 0);
  CHECK(det_normal_quantile(0) == -kInfinity);
  CHECK(det_normal_quantile(1) == kInfinity);
  CHECK(std::isnan(det_normal_quantile(1.5)));
}

TEST_CASE("the functions give the recorded bits on every compiler") {
  CHECK(det_log(10) == 0x1.26bb1bbb55516p+1);
  CHECK(det_exp(1) == 0x1.5bf0a8b145769p+1);
  CHECK(det_pow(10, -3) == 0x1.0624dd2f1a9fcp-10);
  CHECK(det_log1p(1e-10) == 0x1.b7cdfd9d1d693p-34);
  CHECK(det_log2(10) == 0x1.a934f0979a371p+1);
  CHECK(det_normal_quantile(0.975) == 0x1.f5c0331eeff83p+0);
  Digest digest;
  const auto add = [&](double value) { digest.add(std::bit_cast<std::uint64_t>(value)); };
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const double u = draw_unit({1, Stream::kTest, i}, 9);
    add(det_log(u));
    add(det_exp(1400 * u - 700));
    add(det_log2(u * 1e9));
    add(det_log1p(2 * u - 1));
    add(det_pow(u * 10, u * 300 - 100));
    add(det_normal_quantile(u));
    add(det_log_factorial(i));
  }
  CHECK(to_hex(digest) == "012e051397852d86");
}

}  // namespace
}  // namespace servetwin::det_math_test
