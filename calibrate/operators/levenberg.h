// Damped least squares on logarithms of positive numbers, with robust residuals and a pull to the start.
#pragma once

#include <functional>
#include <vector>

namespace servetwin {

struct LeastSquares {
  std::vector<double> start;    // logarithms
  std::vector<double> pull;     // to the start, as so many residuals of weight one
  std::vector<double> weights;  // of residuals
  std::function<std::vector<double>(const std::vector<double>&)> residuals;
  double robust = 0.1;  // a residual beyond which one pulls no harder
  double delta = 1e-4;  // of the differences that stand for derivatives
  int rounds = 40;
  std::function<void(int round, double cost)> told{};
};

// The logarithms where the cost is least, as far as steps downhill lead.
std::vector<double> minimise(const LeastSquares& problem);

}  // namespace servetwin
