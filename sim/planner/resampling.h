// What a few paired differences, one a seed, allow to be said of their mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace servetwin {

struct Interval {
  double low = 0;
  double high = 0;

  bool covers(double x) const { return low <= x && x <= high; }
};

// The t above which a Student variable falls with probability `tail` (Hill 1970, algorithm 396); degrees
// >= 2.
double student_quantile(double tail, int degrees);

// The fewest seeds from which one of `claims` differences judged together can be shown: were there none, all
// n signs of one would agree by chance once in 2^(n-1).
int fewest_seeds(double confidence, std::size_t claims = 1);

// Expanded percentile bootstrap of the mean (Hesterberg 2015): quantiles of the means of resamples, taken
// further out for what a small sample hides, so that the interval is about as wide as Student's and keeps the
// skewness of the data. The resamples are a function of the number of values alone, so one object serves
// all measures, and results are the same on every machine.
class MeanBootstrap {
 public:
  static constexpr int kResamples = 10'000;

  MeanBootstrap(int values, double confidence);
  // Nothing for fewer values than fewest_seeds().
  std::optional<Interval> interval(const std::vector<double>& values) const;

 private:
  int size_;
  double tail_ = 0;                     // of the means, on either side
  std::vector<std::uint16_t> indexes_;  // kResamples times size_; empty: no interval
};

// Two-sided p of "differences have no direction" (Fisher's randomisation test): the share of all choices of
// signs whose sum is at least as far from zero. Exact up to 16 values, above from 20,000 drawn choices.
double sign_flip_p(const std::vector<double>& differences);

// Holm's (1979) adjusted p of each, which keeps the chance of any false claim among them below the level.
std::vector<double> holm_adjusted(const std::vector<double>& p);

// Jain, Chiu and Hawe (1984): 1 where all are equal, 1/n where one has all. Nothing without a positive value.
std::optional<double> jain_index(const std::vector<double>& shares);

}  // namespace servetwin
