// Samplers from uniform draws and deterministic maths. Each consumes one (key, index); rejection samplers
// number their tries with the draw's attempt counter.
#include "engine/base/samplers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/det_math.h"

namespace servetwin {
namespace {

__extension__ using Wide = unsigned __int128;

// The uniform numbers of one draw, in order.
class Attempts {
 public:
  Attempts(const StreamKey& key, std::uint32_t index) : key_(key), index_(index) {}

  std::uint64_t next_u64() {
    CHECK_INVARIANT(count_ < 0xffff, count_);  // a fair sampler never gets here: each try fails with p < 1/2
    return draw_u64(key_, index_, count_++);
  }

  double next_unit() {
    CHECK_INVARIANT(count_ < 0xffff, count_);
    return draw_unit(key_, index_, count_++);
  }

 private:
  StreamKey key_;
  std::uint32_t index_;
  std::uint16_t count_ = 0;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), for shape >= 1 and scale 1.
double gamma_of_large_shape(Attempts& attempts, double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = det_normal_quantile(attempts.next_unit());
    const double u = attempts.next_unit();
    const double root = 1 + c * x;
    const double v = root * root * root;
    if (v > 0 && det_log(u) < 0.5 * x * x + d * (1 - v + det_log(v))) return d * v;
  }
}

// Counts how many of the exponential gaps fit, as a product of uniforms against e^-mean; for a small mean.
std::int64_t poisson_by_product(Attempts& attempts, double mean) {
  const double limit = det_exp(-mean);
  std::int64_t count = 0;
  for (double product = attempts.next_unit(); product > limit; product *= attempts.next_unit()) ++count;
  return count;
}

// Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), PTRS; mean
// >= 10.
std::int64_t poisson_by_rejection(Attempts& attempts, double mean) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double quick_accept = 0.9277 - 3.6224 / (b - 2);
  const double log_mean = det_log(mean);
  while (true) {
    const double u = attempts.next_unit() - 0.5;
    const double v = attempts.next_unit();
    const double distance = 0.5 - (u < 0 ? -u : u);
    const double k = std::floor((2 * a / distance + b) * u + mean + 0.43);
    if (distance >= 0.07 && v <= quick_accept) return static_cast<std::int64_t>(k);
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    const double left = det_log(v * inverse_alpha / (a / (distance * distance) + b));
    if (left <= k * log_mean - mean - det_log_factorial(k)) return static_cast<std::int64_t>(k);
  }
}

}  // namespace

double sample_exponential(const StreamKey& key, std::uint32_t index, double mean) {
  CHECK_INVARIANT(mean > 0, mean);
  return -mean * det_log(draw_unit(key, index));
}

double sample_normal(const StreamKey& key, std::uint32_t index, double mean, double deviation) {
  CHECK_INVARIANT(deviation >= 0, deviation);
  return mean + deviation * det_normal_quantile(draw_unit(key, index));
}

double sample_lognormal(const StreamKey& key, std::uint32_t index, double log_mean, double log_deviation) {
  return det_exp(sample_normal(key, index, log_mean, log_deviation));
}

double sample_gamma(const StreamKey& key, std::uint32_t index, double shape, double scale) {
  CHECK_INVARIANT(shape > 0, shape);
  CHECK_INVARIANT(scale > 0, scale);
  Attempts attempts(key, index);
  if (shape >= 1) return scale * gamma_of_large_shape(attempts, shape);
  // A gamma of shape a is one of shape a + 1 times U^(1/a).
  const double boost = det_pow(attempts.next_unit(), 1 / shape);
  return scale * gamma_of_large_shape(attempts, shape + 1) * boost;
}

double sample_weibull(const StreamKey& key, std::uint32_t index, double shape, double scale) {
  CHECK_INVARIANT(shape > 0, shape);
  CHECK_INVARIANT(scale > 0, scale);
  return scale * det_pow(-det_log(draw_unit(key, index)), 1 / shape);
}

std::int64_t sample_poisson(const StreamKey& key, std::uint32_t index, double mean) {
  CHECK_INVARIANT(mean >= 0, mean);
  CHECK_INVARIANT(mean <= 1e9, mean);
  Attempts attempts(key, index);
  return mean < 10 ? poisson_by_product(attempts, mean) : poisson_by_rejection(attempts, mean);
}

std::int64_t sample_uniform_int(const StreamKey& key,
                                std::uint32_t index,
                                std::int64_t low,
                                std::int64_t high) {
  CHECK_INVARIANT(low <= high, low, high);
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  Attempts attempts(key, index);
  if (count == 0) return static_cast<std::int64_t>(attempts.next_u64());  // all of int64
  // Lemire (2019): the high word of draw * count, without the 2^64 mod count draws that would favour some
  // values.
  const std::uint64_t surplus = (0 - count) % count;
  while (true) {
    const Wide product = static_cast<Wide>(attempts.next_u64()) * count;
    if (static_cast<std::uint64_t>(product) < surplus) continue;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) +
                                     static_cast<std::uint64_t>(product >> 64));
  }
}

WeightedChoice::WeightedChoice(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) {
    CHECK_INVARIANT(weight >= 0, weight);
    sum += weight;
    cumulative_.push_back(sum);
  }
  CHECK_INVARIANT(sum > 0, sum);
}

std::size_t WeightedChoice::sample(const StreamKey& key, std::uint32_t index) const {
  if (cumulative_.size() == 1) return 0;  // no draw shifts another, so none is needed
  const double point = draw_unit(key, index) * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
  if (found != cumulative_.end()) return static_cast<std::size_t>(found - cumulative_.begin());
  // Rounding took the point up to the sum itself: the last index with weight.
  const auto last = std::lower_bound(cumulative_.begin(), cumulative_.end(), cumulative_.back());
  return static_cast<std::size_t>(last - cumulative_.begin());
}

std::vector<double> zipf_weights(std::size_t num_ranks, double exponent) {
  std::vector<double> weights;
  for (std::size_t rank = 1; rank <= num_ranks; ++rank) {
    weights.push_back(det_pow(static_cast<double>(rank), -exponent));
  }
  return weights;
}

QuantileTable::QuantileTable(std::vector<Point> points) : points_(std::move(points)) {
  CHECK_INVARIANT(points_.size() >= 2, points_.size());
  CHECK_INVARIANT(points_.front().probability == 0, points_.front().probability);
  CHECK_INVARIANT(points_.back().probability == 1, points_.back().probability);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    CHECK_INVARIANT(points_[i - 1].probability < points_[i].probability, i);
    CHECK_INVARIANT(points_[i - 1].value <= points_[i].value, i);
  }
}

std::int64_t QuantileTable::quantile(double probability) const {
  CHECK_INVARIANT(probability >= 0, probability);
  CHECK_INVARIANT(probability <= 1, probability);
  const auto above = std::partition_point(points_.begin() + 1, points_.end() - 1, [&](const Point& point) {
    return point.probability <= probability;
  });
  const Point& right = *above;
  const Point& left = *(above - 1);
  const double share = (probability - left.probability) / (right.probability - left.probability);
  return static_cast<std::int64_t>(std::floor(left.value + share * (right.value - left.value) + 0.5));
}

std::int64_t QuantileTable::sample(const StreamKey& key, std::uint32_t index) const {
  return quantile(draw_unit(key, index));
}

double QuantileTable::mean() const {
  double sum = 0;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const double width = points_[i].probability - points_[i - 1].probability;
    sum += width * (points_[i].value + points_[i - 1].value) / 2;
  }
  return sum;
}

}  // namespace servetwin
