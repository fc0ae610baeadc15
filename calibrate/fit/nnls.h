// Least squares whose coefficients are not negative, so that more work never takes less time.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/quantile.h"

namespace servetwin {

// Asks for x · coefficients = y; its square counts `weight` times.
struct Observation {
  std::vector<double> x;
  double y = 0;
  double weight = 1;
};

// Sums over observations, all that least squares needs. Sums of parts may be added, which makes fits that
// leave some observations out cheap.
class NormalEquations {
 public:
  explicit NormalEquations(std::size_t size) : size_(size), gram_(size * size), moment_(size) {}

  void add(const Observation& observation);
  NormalEquations& operator+=(const NormalEquations& other);

  std::size_t size() const { return size_; }
  double gram(std::size_t i, std::size_t j) const { return gram_[i * size_ + j]; }
  double moment(std::size_t i) const { return moment_[i]; }

 private:
  std::size_t size_;
  std::vector<double> gram_;
  std::vector<double> moment_;
};

// The coefficients, by Lawson and Hanson's active sets. A feature that was 0 in every observation gets 0.
std::vector<double> solve_nonnegative(const NormalEquations& equations);

// The same, but an observation far from the others' line counts less: beyond 2.5 deviations (of the median
// kind) in proportion to one over its distance. Changes the weights to what they were at the end.
std::vector<double> solve_robustly(std::vector<Observation>& observations);

double dot(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace servetwin
