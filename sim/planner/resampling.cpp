// Only sums, comparisons and our own elementary functions: the same bits on every machine.
#include "sim/planner/resampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "engine/base/check.h"
#include "engine/base/det_math.h"
#include "engine/base/rng.h"
#include "engine/base/samplers.h"

namespace servetwin {
namespace {

constexpr double kHalfPi = 1.57079632679489661923;
constexpr std::size_t kMaxExact = 16;
constexpr std::uint32_t kDrawnFlips = 20'000;
// Sums of the same values in another order differ in their last bits.
constexpr double kAlmost = 1 - 1e-12;

// The probability whose normal quantile is -z, z >= 0.
double normal_tail(double z) {
  double low = 0;
  double high = 0.5;
  for (int i = 0; i < 200; ++i) {
    const double middle = low / 2 + high / 2;
    (middle > 0 && det_normal_quantile(middle) > -z ? high : low) = middle;
  }
  return high;
}

double hill_far_tail(double x_power, double d, int degrees) {
  const double n = degrees;
  const double y = x_power;
  const double inner = 1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4);
  return (inner * y - 1) * (n + 1) / (n + 2) + 1 / y;
}

double exact_flip_p(const std::vector<double>& values, double observed) {
  const std::size_t choices = std::size_t{1} << (values.size() - 1);  // the first sign is fixed: symmetry
  double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<bool> flipped(values.size());
  std::size_t extreme = 0;
  for (std::size_t i = 1;; ++i) {
    extreme += std::fabs(sum) >= observed ? 1 : 0;
    if (i == choices) break;
    // Gray code: one sign changes from each choice to the next.
    const auto change = static_cast<std::size_t>(std::countr_zero(i)) + 1;
    sum += flipped[change] ? 2 * values[change] : -2 * values[change];
    flipped[change] = !flipped[change];
  }
  return static_cast<double>(extreme) / static_cast<double>(choices);
}

double drawn_flip_p(const std::vector<double>& values, double observed) {
  std::int64_t extreme = 1;  // the choice that was observed
  for (std::uint32_t draw = 0; draw < kDrawnFlips; ++draw) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const StreamKey key{1, Stream::kResampling, i / 64};
      const bool flip = (draw_u64(key, draw) >> (i % 64) & 1U) != 0;
      sum += flip ? -values[i] : values[i];
    }
    extreme += std::fabs(sum) >= observed ? 1 : 0;
  }
  return static_cast<double>(extreme) / (kDrawnFlips + 1.0);
}

}  // namespace

double student_quantile(double tail, int degrees) {
  CHECK_INVARIANT(degrees >= 2 && tail > 0 && tail <= 0.5, degrees, tail);
  const double n = degrees;
  const double p = 2 * tail;
  if (degrees == 2) return std::sqrt(2 / (p * (2 - p)) - 2);
  const double a = 1 / (n - 0.5);
  const double b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3) / b + 1) * std::sqrt(a * kHalfPi) * n;
  double y = det_pow(d * p, 2 / n);
  if (y <= 0.05 + a) return std::sqrt(n * hill_far_tail(y, d, degrees));
  const double x = det_normal_quantile(tail);
  y = x * x;
  if (degrees < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
  c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
  y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
  y = a * y * y;
  return std::sqrt(n * (y > 0.002 ? det_exp(y) - 1 : 0.5 * y * y + y));
}

int fewest_seeds(double confidence, std::size_t claims) {
  int seeds = 2;
  for (double chance = 0.5 * static_cast<double>(claims); chance > 1 - confidence; chance /= 2) ++seeds;
  return seeds;
}

MeanBootstrap::MeanBootstrap(int values, double confidence) : size_(values) {
  if (values < fewest_seeds(confidence)) return;
  const double n = values;
  tail_ = normal_tail(std::sqrt(n / (n - 1)) * student_quantile((1 - confidence) / 2, values - 1));
  indexes_.reserve(static_cast<std::size_t>(kResamples) * static_cast<std::size_t>(values));
  for (std::uint32_t resample = 0; resample < static_cast<std::uint32_t>(kResamples); ++resample) {
    for (int i = 0; i < values; ++i) {
      const StreamKey key{0, Stream::kResampling, static_cast<std::uint64_t>(i)};
      indexes_.push_back(static_cast<std::uint16_t>(sample_uniform_int(key, resample, 0, values - 1)));
    }
  }
}

std::optional<Interval> MeanBootstrap::interval(const std::vector<double>& values) const {
  CHECK_INVARIANT(values.size() == static_cast<std::size_t>(size_), values.size(), size_);
  if (indexes_.empty()) return std::nullopt;
  std::vector<double> means;
  means.reserve(kResamples);
  for (auto index = indexes_.begin(); index != indexes_.end();) {
    double sum = 0;
    for (int i = 0; i < size_; ++i) sum += values[*index++];
    means.push_back(sum / size_);
  }
  // The order statistic that leaves at most the tail outside; the least and largest mean at the ends.
  const auto outside = static_cast<std::ptrdiff_t>(tail_ * kResamples);
  const auto low = means.begin() + outside;
  const auto high = means.end() - 1 - outside;
  std::nth_element(means.begin(), low, means.end());
  const double low_value = *low;
  std::nth_element(means.begin(), high, means.end());
  return Interval{low_value, *high};
}

double sign_flip_p(const std::vector<double>& differences) {
  const double sum = std::accumulate(differences.begin(), differences.end(), 0.0);
  const double observed = std::fabs(sum) * kAlmost;
  if (differences.empty() || observed == 0) return 1;
  return differences.size() <= kMaxExact ? exact_flip_p(differences, observed)
                                         : drawn_flip_p(differences, observed);
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double above = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    above = std::max(above, std::min(1.0, p[order[rank]] * static_cast<double>(p.size() - rank)));
    adjusted[order[rank]] = above;
  }
  return adjusted;
}

std::optional<double> jain_index(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  if (squares <= 0) return std::nullopt;
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace servetwin
