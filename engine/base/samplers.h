// Random variables on counter-based streams: a sample is a pure function of (key, index) and the parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/rng.h"

namespace servetwin {

// Parameters outside the stated ranges are broken invariants; readers of input check them first.

double sample_exponential(const StreamKey& key, std::uint32_t index, double mean);  // mean > 0
double sample_normal(const StreamKey& key, std::uint32_t index, double mean, double deviation);
// exp of a normal variable; median exp(log_mean).
double sample_lognormal(const StreamKey& key, std::uint32_t index, double log_mean, double log_deviation);
// Mean shape * scale; both > 0.
double sample_gamma(const StreamKey& key, std::uint32_t index, double shape, double scale);
double sample_weibull(const StreamKey& key, std::uint32_t index, double shape, double scale);  // both > 0
std::int64_t sample_poisson(const StreamKey& key, std::uint32_t index, double mean);  // 0 <= mean <= 1e9
// Uniform on low..high, both included, without bias.
std::int64_t sample_uniform_int(const StreamKey& key,
                                std::uint32_t index,
                                std::int64_t low,
                                std::int64_t high);

// An index drawn in proportion to its weight. Weights are not negative, at least one is positive.
class WeightedChoice {
 public:
  explicit WeightedChoice(const std::vector<double>& weights);
  std::size_t sample(const StreamKey& key, std::uint32_t index) const;
  std::size_t size() const { return cumulative_.size(); }

 private:
  std::vector<double> cumulative_;
};

// Weights 1/1^exponent, 1/2^exponent, … of the ranks 1..num_ranks, for WeightedChoice; index 0 is rank 1.
std::vector<double> zipf_weights(std::size_t num_ranks, double exponent);

// An integer distribution given by some of its quantiles, linear in between and rounded half up.
class QuantileTable {
 public:
  struct Point {
    double probability = 0;
    double value = 0;
  };
  // Probabilities rise strictly from 0 to 1; values do not fall.
  explicit QuantileTable(std::vector<Point> points);
  std::int64_t quantile(double probability) const;
  std::int64_t sample(const StreamKey& key, std::uint32_t index) const;
  // Of the distribution before rounding.
  double mean() const;

 private:
  std::vector<Point> points_;
};

}  // namespace servetwin
