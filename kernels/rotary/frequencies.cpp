// One function a method, in double precision, rounded once.
#include "kernels/rotary/frequencies.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/det_math.h"

namespace servetwin {
namespace {

constexpr double kPi = 3.14159265358979323846;

double speed(double theta, std::int64_t pair, std::int64_t head_dim) {
  return 1.0 / det_pow(theta, 2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
}

// The base at which the slowest speed is `factor` times slower.
double ntk_theta(const RotaryOptions& options, double factor) {
  const auto dim = static_cast<double>(options.head_dim);
  return options.theta * det_pow(factor, dim / (dim - 2.0));
}

double dynamic_ntk_factor(const RotaryOptions& options) {
  const double longest = std::max(options.max_position, options.original_max_position);
  return options.factor * longest / options.original_max_position - (options.factor - 1.0);
}

// The pair of dimensions that turns `rotations` times over the original context.
double yarn_pair(const RotaryOptions& options, double rotations) {
  return static_cast<double>(options.head_dim) *
         det_log(options.original_max_position / (rotations * 2.0 * kPi)) / (2.0 * det_log(options.theta));
}

double yarn_speed(const RotaryOptions& options, std::int64_t pair, double plain) {
  const auto last = static_cast<double>(options.head_dim - 1);
  const double low = std::max(std::floor(yarn_pair(options, options.beta_fast)), 0.0);
  const double high = std::min(std::ceil(yarn_pair(options, options.beta_slow)), last);
  const double width = high == low ? 0.001 : high - low;
  const double ramp = std::clamp((static_cast<double>(pair) - low) / width, 0.0, 1.0);
  return plain / options.factor * ramp + plain * (1.0 - ramp);
}

double llama3_speed(const RotaryOptions& options, double plain) {
  const double wavelength = 2.0 * kPi / plain;
  if (wavelength < options.original_max_position / options.high_freq_factor) return plain;
  if (wavelength > options.original_max_position / options.low_freq_factor) return plain / options.factor;
  const double smooth = (options.original_max_position / wavelength - options.low_freq_factor) /
                        (options.high_freq_factor - options.low_freq_factor);
  return (1.0 - smooth) * plain / options.factor + smooth * plain;
}

}  // namespace

RotaryFrequencies rotary_frequencies(const RotaryOptions& options) {
  CHECK_INVARIANT(options.head_dim > 2 && options.head_dim % 2 == 0, options.head_dim);
  RotaryFrequencies result;
  double theta = options.theta;
  if (options.scaling == RotaryScaling::kNtk) theta = ntk_theta(options, options.factor);
  if (options.scaling == RotaryScaling::kDynamicNtk) theta = ntk_theta(options, dynamic_ntk_factor(options));
  for (std::int64_t pair = 0; pair < options.head_dim / 2; ++pair) {
    double value = speed(theta, pair, options.head_dim);
    if (options.scaling == RotaryScaling::kLinear) value /= options.factor;
    if (options.scaling == RotaryScaling::kYarn) value = yarn_speed(options, pair, value);
    if (options.scaling == RotaryScaling::kLlama3) value = llama3_speed(options, value);
    if (options.scaling == RotaryScaling::kDivisors)
      value /= options.divisors.at(static_cast<std::size_t>(pair));
    result.speeds.push_back(static_cast<float>(value));
  }
  if (options.scaling == RotaryScaling::kYarn && options.factor > 1) {
    result.magnitude = static_cast<float>(0.1 * det_log(options.factor) + 1.0);
  }
  if (options.magnitude > 0) result.magnitude = static_cast<float>(options.magnitude);
  return result;
}

}  // namespace servetwin
