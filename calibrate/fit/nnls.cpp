// Active sets over normal equations whose columns are scaled to length one.
#include "calibrate/fit/nnls.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace servetwin {
namespace {

using Index = Eigen::Index;

constexpr double kTiny = 1e-10;  // of a gradient in which every column has length one

class ActiveSet {
 public:
  explicit ActiveSet(const NormalEquations& equations)
      : size_(static_cast<Index>(equations.size())), gram_(size_, size_), moment_(size_), scale_(size_) {
    for (Index i = 0; i < size_; ++i) {
      const double square = equations.gram(at(i), at(i));
      scale_[i] = square > 0 ? 1 / std::sqrt(square) : 0;
    }
    for (Index i = 0; i < size_; ++i) {
      moment_[i] = equations.moment(at(i)) * scale_[i];
      for (Index j = 0; j < size_; ++j) gram_(i, j) = equations.gram(at(i), at(j)) * scale_[i] * scale_[j];
    }
    largest_ = moment_.cwiseAbs().maxCoeff();
    solution_ = Eigen::VectorXd::Zero(size_);
    passive_.assign(equations.size(), false);
  }

  std::vector<double> solve() {
    const Index most = 10 * size_;
    for (Index round = 0; round < most; ++round) {
      const Index next = steepest();
      if (next < 0) break;
      passive_[at(next)] = true;
      settle(next);
    }
    std::vector<double> result(at(size_));
    for (Index i = 0; i < size_; ++i) result[at(i)] = solution_[i] * scale_[i];
    return result;
  }

 private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // The feature at 0 that lowers the error fastest; -1 when none does.
  Index steepest() const {
    const Eigen::VectorXd gradient = moment_ - gram_ * solution_;
    Index best = -1;
    double most = kTiny * largest_;
    for (Index i = 0; i < size_; ++i) {
      if (passive_[at(i)] || scale_[i] <= 0 || gradient[i] <= most) continue;
      most = gradient[i];
      best = i;
    }
    return best;
  }

  // Solves for the passive features, dropping those that would turn negative.
  void settle(Index added) {
    while (true) {
      const Eigen::VectorXd wanted = unconstrained();
      double step = 1;
      for (Index i = 0; i < size_; ++i) {
        if (!passive_[at(i)] || wanted[i] > 0) continue;
        const double way = solution_[i] - wanted[i];
        step = std::min(step, way > 0 ? solution_[i] / way : 0);
      }
      if (step >= 1) {
        solution_ = wanted;
        return;
      }
      solution_ += step * (wanted - solution_);
      for (Index i = 0; i < size_; ++i) {
        if (!passive_[at(i)] || solution_[i] > kTiny * largest_) continue;
        if (i == added && step > 0) continue;
        solution_[i] = 0;
        passive_[at(i)] = false;
      }
    }
  }

  Eigen::VectorXd unconstrained() const {
    std::vector<Index> chosen;
    for (Index i = 0; i < size_; ++i) {
      if (passive_[at(i)]) chosen.push_back(i);
    }
    const Eigen::MatrixXd gram = gram_(chosen, chosen);
    const Eigen::VectorXd moment = moment_(chosen);
    const Eigen::VectorXd part = gram.ldlt().solve(moment);
    Eigen::VectorXd all = Eigen::VectorXd::Zero(size_);
    for (std::size_t i = 0; i < chosen.size(); ++i) all[chosen[i]] = part[static_cast<Index>(i)];
    return all;
  }

  Index size_;
  Eigen::MatrixXd gram_;
  Eigen::VectorXd moment_;
  Eigen::VectorXd scale_;
  Eigen::VectorXd solution_;
  std::vector<bool> passive_;
  double largest_ = 0;
};

std::vector<double> solve_all(const std::vector<Observation>& observations) {
  NormalEquations equations(observations.front().x.size());
  for (const Observation& one : observations) equations.add(one);
  return solve_nonnegative(equations);
}

}  // namespace

void NormalEquations::add(const Observation& observation) {
  const std::vector<double>& x = observation.x;
  CHECK_INVARIANT(x.size() == size_, x.size(), size_);
  for (std::size_t i = 0; i < size_; ++i) {
    if (x[i] == 0) continue;
    moment_[i] += observation.weight * x[i] * observation.y;
    for (std::size_t j = 0; j < size_; ++j) gram_[i * size_ + j] += observation.weight * x[i] * x[j];
  }
}

NormalEquations& NormalEquations::operator+=(const NormalEquations& other) {
  std::transform(gram_.begin(), gram_.end(), other.gram_.begin(), gram_.begin(), std::plus<>());
  std::transform(moment_.begin(), moment_.end(), other.moment_.begin(), moment_.begin(), std::plus<>());
  return *this;
}

std::vector<double> solve_nonnegative(const NormalEquations& equations) {
  return equations.size() == 0 ? std::vector<double>{} : ActiveSet(equations).solve();
}

std::vector<double> solve_robustly(std::vector<Observation>& observations) {
  constexpr int kRounds = 5;
  constexpr double kDeviations = 2.5 * 1.4826;  // of a normal distribution's median magnitude
  std::vector<double> given;
  for (const Observation& one : observations) given.push_back(one.weight);
  std::vector<double> coefficients = solve_all(observations);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> distances;
    for (std::size_t i = 0; i < observations.size(); ++i) {
      distances.push_back(std::abs(dot(observations[i].x, coefficients) - observations[i].y) *
                          std::sqrt(given[i]));
    }
    const double near = kDeviations * quantile(distances, 0.5);
    if (!(near > 0)) break;
    for (std::size_t i = 0; i < observations.size(); ++i)
      observations[i].weight = given[i] * std::min(1.0, near / std::max(distances[i], near));
    coefficients = solve_all(observations);
  }
  return coefficients;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace servetwin
