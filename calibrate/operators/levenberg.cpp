// Derivatives are differences: formulas have corners, and simulations have no derivatives at all.
#include "calibrate/operators/levenberg.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace servetwin {
namespace {

std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

class Descent {
 public:
  explicit Descent(const LeastSquares& problem)
      : problem_(problem),
        x_(problem.start),
        residuals_(problem.residuals(x_)),
        cost_(cost(residuals_, x_)) {}

  std::vector<double> go() {
    for (int round = 0; round < problem_.rounds; ++round) {
      const double before = cost_;
      if (problem_.told) problem_.told(round, cost_);
      if (!improve() || before - cost_ < 1e-5 * before) break;
    }
    return x_;
  }

 private:
  double cost(const std::vector<double>& residuals, const std::vector<double>& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const double size = std::abs(residuals[i]);
      const double robust = problem_.robust;
      sum += problem_.weights[i] * (size < robust ? 0.5 * size * size : robust * (size - 0.5 * robust));
    }
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double away = x[j] - problem_.start[j];
      sum += 0.5 * problem_.pull[j] * away * away;
    }
    return sum;
  }

  Eigen::MatrixXd jacobian() const {
    const auto rows = static_cast<Eigen::Index>(residuals_.size());
    const auto columns = static_cast<Eigen::Index>(x_.size());
    Eigen::MatrixXd out(rows, columns);
    for (Eigen::Index j = 0; j < columns; ++j) {
      std::vector<double> moved = x_;
      moved[at(j)] += problem_.delta;
      const std::vector<double> r = problem_.residuals(moved);
      for (Eigen::Index i = 0; i < rows; ++i) out(i, j) = (r[at(i)] - residuals_[at(i)]) / problem_.delta;
    }
    return out;
  }

  // One step downhill; false when there is none.
  bool improve() {
    const Eigen::MatrixXd jacobian = this->jacobian();
    Eigen::MatrixXd weighted = jacobian;
    Eigen::VectorXd scaled(jacobian.rows());
    for (Eigen::Index i = 0; i < jacobian.rows(); ++i) {
      const double size = std::max(std::abs(residuals_[at(i)]), 1e-12);
      const double weight = problem_.weights[at(i)] * std::min(1.0, problem_.robust / size);
      scaled(i) = weight * residuals_[at(i)];
      weighted.row(i) *= weight;
    }
    Eigen::MatrixXd normal = jacobian.transpose() * weighted;
    Eigen::VectorXd gradient = jacobian.transpose() * scaled;
    for (Eigen::Index j = 0; j < normal.cols(); ++j) {
      normal(j, j) += problem_.pull[at(j)];
      gradient(j) += problem_.pull[at(j)] * (x_[at(j)] - problem_.start[at(j)]);
    }
    return try_steps(normal, gradient);
  }

  bool try_steps(const Eigen::MatrixXd& normal, const Eigen::VectorXd& gradient) {
    constexpr int kSteps = 8;
    for (int attempt = 0; attempt < kSteps; ++attempt) {
      Eigen::MatrixXd damped = normal;
      for (Eigen::Index j = 0; j < normal.cols(); ++j)
        damped(j, j) += damping_ * (normal(j, j) + 1e-6 * static_cast<double>(residuals_.size()));
      const Eigen::VectorXd step = damped.ldlt().solve(-gradient);
      std::vector<double> moved = x_;
      for (std::size_t j = 0; j < moved.size(); ++j) {
        moved[j] += std::clamp(step(static_cast<Eigen::Index>(j)), -1.0, 1.0);
        moved[j] = std::clamp(moved[j], -30.0, 30.0);
      }
      std::vector<double> residuals = problem_.residuals(moved);
      const double moved_cost = cost(residuals, moved);
      if (moved_cost < cost_) {
        x_ = std::move(moved);
        residuals_ = std::move(residuals);
        cost_ = moved_cost;
        damping_ = std::max(damping_ / 5, 1e-8);
        return true;
      }
      damping_ *= 5;
    }
    return false;
  }

  const LeastSquares& problem_;
  std::vector<double> x_;
  std::vector<double> residuals_;
  double cost_;
  double damping_ = 1e-2;
};

}  // namespace

std::vector<double> minimise(const LeastSquares& problem) { return Descent(problem).go(); }

}  // namespace servetwin
