// Everything is on logarithms: relative errors are what matters, and numbers stay positive.
#include "calibrate/operators/formula_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/operators/levenberg.h"
#include "engine/base/digest.h"
#include "engine/base/error.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

using Samples = std::vector<const OperatorSample*>;

double weight_of(double us) { return std::pow(us / 100, 0.25); }

// The numbers alone.
std::vector<double> fit_numbers(const OperatorFormula& formula,
                                const GpuLimits& device,
                                const Samples& samples,
                                double robust) {
  LeastSquares problem;
  problem.robust = robust;
  for (const FormulaNumber& one : formula.numbers(device)) {
    problem.start.push_back(std::log(one.start));
    problem.pull.push_back(one.pull);
  }
  for (const OperatorSample* sample : samples) problem.weights.push_back(weight_of(sample->us));
  const auto exponentials = [](const std::vector<double>& x) {
    std::vector<double> numbers(x.size());
    std::transform(x.begin(), x.end(), numbers.begin(), [](double v) { return std::exp(v); });
    return numbers;
  };
  problem.residuals = [&](const std::vector<double>& x) {
    const std::vector<double> numbers = exponentials(x);
    std::vector<double> out;
    out.reserve(samples.size());
    for (const OperatorSample* sample : samples) {
      const double us = formula.us(numbers, device, sample->dims);
      out.push_back(std::log(std::max(us, 1e-6) / sample->us));
    }
    return out;
  };
  return exponentials(minimise(problem));
}

// Ridge regression of log(measured / formula) on the knots' weights, calls that lie far off counting less.
std::vector<std::vector<double>> fit_corrections(const OperatorFormula& formula,
                                                 const GpuLimits& device,
                                                 const Samples& samples,
                                                 const std::vector<double>& numbers,
                                                 const FitSettings& settings) {
  const std::vector<OperatorFormula::Axes> tables = formula.tables();
  std::vector<std::size_t> offsets;
  std::size_t knots = 0;
  for (const auto& axes : tables) {
    offsets.push_back(knots);
    knots += num_knots(axes);
  }
  std::vector<std::vector<KnotWeight>> rows;
  std::vector<double> targets;
  for (const OperatorSample* sample : samples) {
    std::vector<double> places;
    formula.places(device, sample->dims, places);
    std::vector<KnotWeight> row;
    std::vector<KnotWeight> one;
    const double* at = places.data();
    for (std::size_t i = 0; i < tables.size(); ++i) {
      knot_weights(tables[i], at, one);
      for (const KnotWeight& w : one) {
        if (w.weight != 0) row.push_back({offsets[i] + w.knot, w.weight});
      }
      at += tables[i].size();
    }
    rows.push_back(std::move(row));
    targets.push_back(std::log(sample->us / formula.us(numbers, device, sample->dims)));
  }
  const auto size = static_cast<Eigen::Index>(knots);
  Eigen::VectorXd values = Eigen::VectorXd::Zero(size);
  constexpr int kRounds = 5;
  const double robust = settings.robust / 2;
  for (int round = 0; round < kRounds; ++round) {
    Eigen::MatrixXd normal = Eigen::MatrixXd::Identity(size, size) * settings.ridge;
    Eigen::VectorXd right = Eigen::VectorXd::Zero(size);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double residual = targets[i];
      for (const KnotWeight& w : rows[i]) residual -= w.weight * values(static_cast<Eigen::Index>(w.knot));
      const double off = round == 0 ? 0 : std::abs(residual);
      const double weight = weight_of(samples[i]->us) * (off < robust ? 1 : robust / off);
      for (const KnotWeight& a : rows[i]) {
        const auto row = static_cast<Eigen::Index>(a.knot);
        right(row) += weight * a.weight * targets[i];
        for (const KnotWeight& b : rows[i])
          normal(row, static_cast<Eigen::Index>(b.knot)) += weight * a.weight * b.weight;
      }
    }
    values = normal.ldlt().solve(right);
  }
  std::vector<std::vector<double>> corrections;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const double* first = values.data() + offsets[i];
    corrections.emplace_back(first, first + num_knots(tables[i]));
  }
  return corrections;
}

// Evenly spread, so that no shape group is left out.
Samples thinned(const Samples& samples, std::size_t most) {
  if (samples.size() <= most) return samples;
  Samples some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(samples[i * samples.size() / most]);
  return some;
}

std::size_t fold_of(const std::string& group) {
  Digest digest;
  for (const char c : group) digest.add(static_cast<unsigned char>(c));
  return static_cast<std::size_t>(digest.value() % 5);
}

}  // namespace

FormulaFit fit_formula(const OperatorFormula& formula,
                       const GpuLimits& device,
                       const Samples& samples,
                       const FitSettings& settings) {
  const std::size_t needed = formula.numbers(device).size() + 1;
  if (samples.size() < needed) {
    throw ConfigError(Problem{kCodeInconsistent,
                              {},
                              "",
                              std::to_string(samples.size()) + " measurements cannot give " +
                                  std::to_string(needed - 1) + " numbers",
                              "measure at least " + std::to_string(needed)});
  }
  FormulaFit fit;
  fit.numbers = fit_numbers(formula, device, thinned(samples, settings.most_calls), settings.robust);
  if (settings.corrections && !formula.tables().empty())
    fit.corrections = fit_corrections(formula, device, samples, fit.numbers, settings);
  return fit;
}

FitError error_of(const std::vector<double>& measured, const std::vector<double>& predicted) {
  FitError error;
  error.samples = measured.size();
  if (measured.empty()) return error;
  std::vector<std::pair<double, double>> errors;  // with the time
  for (std::size_t i = 0; i < measured.size(); ++i)
    errors.emplace_back(std::abs(predicted[i] / measured[i] - 1), measured[i]);
  std::sort(errors.begin(), errors.end());
  error.median = errors[errors.size() / 2].first;
  error.p90 = errors[errors.size() * 9 / 10].first;
  const double half = std::accumulate(measured.begin(), measured.end(), 0.0) / 2;
  double sum = 0;
  for (const auto& [size, us] : errors) {
    sum += us;
    error.time_median = size;
    if (sum >= half) break;
  }
  return error;
}

std::vector<double> predicted_left_out(const OperatorFormula& formula,
                                       const GpuLimits& device,
                                       const Samples& samples,
                                       const FitSettings& settings) {
  std::vector<double> predicted(samples.size());
  for (std::size_t fold = 0; fold < 5; ++fold) {
    Samples seen;
    for (const OperatorSample* sample : samples) {
      if (fold_of(sample->group) != fold) seen.push_back(sample);
    }
    if (seen.size() == samples.size()) continue;
    FormulaFit fit = fit_formula(formula, device, seen, settings);
    if (fit.corrections.empty()) {
      for (const auto& axes : formula.tables()) fit.corrections.emplace_back(num_knots(axes), 0.0);
    }
    const FittedOperator fitted(formula, fit.numbers, fit.corrections, device);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (fold_of(samples[i]->group) == fold) predicted[i] = fitted.us(samples[i]->dims);
    }
  }
  return predicted;
}

}  // namespace servetwin
