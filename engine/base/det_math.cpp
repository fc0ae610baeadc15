// Logarithms and exponentials in pairs of doubles, then one rounding: no table, no libm, the same bits
// everywhere.
#include "engine/base/det_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/base/check.h"

namespace servetwin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;

// high + low, with |low| at most half a unit of high: about 106 bits.
struct Pair {
  double high = 0;
  double low = 0;
};

constexpr double kLn2High = 0x1.62e42fefa2000p-1;  // 40 bits, so its product with an exponent is exact
constexpr double kLn2Low = 0x1.9ef35793c7673p-41;
constexpr Pair kOneOverLn2{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
constexpr Pair kTwoThirds{0x1.5555555555555p-1, 0x1.5555555555555p-55};
constexpr Pair kTwoFifths{0x1.999999999999ap-2, -0x1.999999999999ap-56};
constexpr double kHalfLog2Pi = 0x1.d67f1c864beb5p-1;

// Exact when |a| >= |b| or a is 0.
Pair fast_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

Pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

Pair exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

Pair operator+(Pair a, Pair b) {
  const Pair sum = exact_sum(a.high, b.high);
  return fast_sum(sum.high, sum.low + (a.low + b.low));
}

Pair operator*(Pair a, Pair b) {
  const Pair product = exact_product(a.high, b.high);
  return fast_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

Pair operator/(Pair a, Pair b) {
  const double quotient = a.high / b.high;
  const double rest = std::fma(-quotient, b.high, a.high) + (a.low - quotient * b.low);
  return fast_sum(quotient, rest / b.high);
}

double round_once(Pair value) { return value.high + value.low; }

// 2^exponent for normal results.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// In two steps, because one factor may lie outside the range of doubles.
double scale(double value, int exponent) {
  const int half = exponent / 2;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

// x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)], and the logarithm of m.
struct LogParts {
  int exponent = 0;
  Pair log_m;
};

// log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172: 2 s (1 + s^2/3 + s^4/5 + …), up to s^26.
Pair log_near_one(Pair m) {
  const Pair f = fast_sum(m.high - 1, m.low);
  const Pair s = f / (f + Pair{2, 0});
  const Pair z = s * s;
  constexpr std::array<double, 14> kSeries = [] {
    std::array<double, 14> result{};
    for (int n = 3; n <= 13; ++n) result[static_cast<std::size_t>(n)] = 2.0 / (2 * n + 1);
    return result;
  }();
  double tail = 0;
  for (std::size_t n = 13; n >= 3; --n) tail = tail * z.high + kSeries[n];
  const Pair series = z * (kTwoThirds + z * (kTwoFifths + exact_product(z.high, tail)));
  return Pair{2 * s.high, 2 * s.low} + s * series;
}

// For a positive finite x.
LogParts log_parts(Pair x) {
  int exponent = 0;
  if (x.high < std::numeric_limits<double>::min()) {
    x.high = x.high * 0x1p54;
    exponent = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x.high);
  const int own_exponent = static_cast<int>(bits >> 52) - 1023;
  Pair m{std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL),
         scale(x.low, -own_exponent)};
  exponent += own_exponent;
  if (m.high > kSqrt2) {
    m = {m.high / 2, m.low / 2};
    ++exponent;
  }
  return {exponent, log_near_one(m)};
}

Pair log_pair(Pair x) {
  const LogParts parts = log_parts(x);
  const Pair whole = exact_product(parts.exponent, kLn2Low);
  return Pair{parts.exponent * kLn2High, 0} + (whole + parts.log_m);
}

// e^x for |x| < 1000.
double exp_of(Pair x) {
  const double scaled = x.high * kOneOverLn2.high;
  const int exponent = static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const Pair r = Pair{x.high - exponent * kLn2High, x.low} + exact_product(-exponent, kLn2Low);
  // 1/2!, 1/3!, … 1/14!: the rest is below 2^-70 for |r| < 0.347.
  constexpr std::array<double, 13> kInverseFactorials = [] {
    std::array<double, 13> result{};
    double factorial = 1;
    for (int n = 0; n < 13; ++n) result[static_cast<std::size_t>(n)] = 1 / (factorial *= n + 2);
    return result;
  }();
  double tail = 0;
  for (std::size_t n = kInverseFactorials.size(); n-- > 0;) tail = tail * r.high + kInverseFactorials[n];
  const Pair sum = fast_sum(1, r.high);
  return scale(sum.high + (sum.low + (r.low + r.high * r.high * tail)), exponent);
}

// Horner's rule in pairs; coefficients from the constant upwards.
template <std::size_t N>
Pair polynomial(const std::array<double, N>& coefficients, double x) {
  Pair sum{coefficients[N - 1], 0};
  for (std::size_t i = N - 1; i-- > 0;) {
    const Pair product = exact_product(sum.high, x);
    sum = Pair{coefficients[i], 0} + Pair{product.high, product.low + sum.low * x};
  }
  return sum;
}

// Rational approximations of Wichura, "Algorithm AS 241", Applied Statistics 37 (1988), PPND16.
constexpr std::array<double, 8> kCentralTop = {
    3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
    4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array<double, 8> kCentralBottom = {1.0,
                                                  4.2313330701600911252e+1,
                                                  6.8718700749205790830e+2,
                                                  5.3941960214247511077e+3,
                                                  2.1213794301586595867e+4,
                                                  3.9307895800092710610e+4,
                                                  2.8729085735721942674e+4,
                                                  5.2264952788528545610e+3};
constexpr std::array<double, 8> kTailTop = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                            5.76949722146069140550e0,  3.64784832476320460504e0,
                                            1.27045825245236838258e0,  2.41780725177450611770e-1,
                                            2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> kTailBottom = {1.0,
                                               2.05319162663775882187e0,
                                               1.67638483018380384940e0,
                                               6.89767334985100004550e-1,
                                               1.48103976427480074590e-1,
                                               1.51986665636164571966e-2,
                                               5.47593808499534494600e-4,
                                               1.05075007164441684324e-9};
constexpr std::array<double, 8> kFarTop = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                           1.78482653991729133580e0,  2.96560571828504891230e-1,
                                           2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> kFarBottom = {1.0,
                                              5.99832206555887937690e-1,
                                              1.36929880922735805310e-1,
                                              1.48753612908506148525e-2,
                                              7.86869131145613259100e-4,
                                              1.84631831751005468180e-5,
                                              1.42151175831644588870e-7,
                                              2.04426310338993978564e-15};

}  // namespace

double det_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return kInfinity;
  if (x < -750) return 0;
  return exp_of({x, 0});
}

double det_log(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  return round_once(log_pair({x, 0}));
}

double det_log2(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  const LogParts parts = log_parts({x, 0});
  return round_once(Pair{static_cast<double>(parts.exponent), 0} + parts.log_m * kOneOverLn2);
}

double det_log1p(double x) {
  if (std::isnan(x) || x < -1) return kNan;
  if (x == -1) return -kInfinity;
  if (x == kInfinity || (x > -0x1p-54 && x < 0x1p-54)) return x;
  return round_once(log_pair(exact_sum(1, x)));
}

double det_pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y) || x < 0) return kNan;
  const bool grows = (x > 1) == (y > 0);
  if (x == 0 || x == kInfinity || std::isinf(y)) return grows ? kInfinity : 0;
  const Pair log_x = log_pair({x, 0});
  const double rough = y * log_x.high;
  if (rough > 710) return kInfinity;
  if (rough < -750) return 0;
  const Pair product = exact_product(y, log_x.high);
  return exp_of(fast_sum(product.high, product.low + y * log_x.low));
}

double det_log_factorial(double k) {
  CHECK_INVARIANT(k >= 0, k);
  if (k < 18) {
    double factorial = 1;
    for (double i = 2; i <= k; i += 1) factorial *= i;
    return det_log(factorial);
  }
  const double inverse = 1 / k;
  const double square = inverse * inverse;
  const double series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680))));
  return (k + 0.5) * det_log(k) - k + kHalfLog2Pi + series;
}

double det_normal_quantile(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return kNan;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  const Pair q = exact_sum(-0.5, p);
  if (q.high >= -0.425 && q.high <= 0.425) {
    const double r = std::fma(-q.high, q.high, 0.180625) - 2 * q.high * q.low;
    return round_once(polynomial(kCentralTop, r) / polynomial(kCentralBottom, r) * q);
  }
  // The tail's own probability is exact: 1 - p loses nothing for p above one half.
  const Pair log_tail = log_pair({p < 0.5 ? p : 1 - p, 0});
  const double root = std::sqrt(-log_tail.high);
  const double root_low = (std::fma(-root, root, -log_tail.high) - log_tail.low) / (2 * root);
  const bool far = root > 5;
  const Pair argument = Pair{root, root_low} + (far ? Pair{-5, 0} : Pair{-1.6, 0x1.999999999999ap-54});
  const Pair ratio = far ? polynomial(kFarTop, argument.high) / polynomial(kFarBottom, argument.high)
                         : polynomial(kTailTop, argument.high) / polynomial(kTailBottom, argument.high);
  // The slope is close to sqrt(2) here, and what it multiplies is a rounding error.
  const double x = round_once(ratio + Pair{argument.low * kSqrt2, 0});
  return p < 0.5 ? -x : x;
}

}  // namespace servetwin
