// Corrections are small and smooth: the formula carries what changes fast.
#include "costmodels/operators/operator_formula.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/det_math.h"

namespace servetwin {
namespace {

double factor(Scaling scaling, const GpuLimits& from, const GpuLimits& to) {
  switch (scaling) {
    case Scaling::kSame:
      break;
    case Scaling::kMultiprocessorTime:
      return from.flops / from.sms / (to.flops / to.sms);
    case Scaling::kMemoryTime:
      return from.bytes / to.bytes;
    case Scaling::kBandwidth:
      return to.bytes / from.bytes;
  }
  return 1;
}

}  // namespace

std::size_t num_knots(const OperatorFormula::Axes& axes) {
  std::size_t count = 1;
  for (const auto& axis : axes) count *= axis.size();
  return count;
}

void knot_weights(const OperatorFormula::Axes& axes, const double* at, std::vector<KnotWeight>& out) {
  out.assign(1, {0, 1.0});
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::vector<double>& knots = axes[axis];
    const double x = std::clamp(at[axis], knots.front(), knots.back());
    std::size_t below = 0;
    while (below + 2 < knots.size() && knots[below + 1] <= x) ++below;
    const double part = (x - knots[below]) / (knots[below + 1] - knots[below]);
    const std::size_t size = out.size();
    for (std::size_t i = 0; i < size; ++i) {
      const KnotWeight one = out[i];
      out[i] = {one.knot * knots.size() + below, one.weight * (1 - part)};
      out.push_back({one.knot * knots.size() + below + 1, one.weight * part});
    }
  }
}

FittedOperator::FittedOperator(const OperatorFormula& formula,
                               std::vector<double> numbers,
                               std::vector<std::vector<double>> corrections,
                               const GpuLimits& device)
    : formula_(&formula),
      numbers_(std::move(numbers)),
      corrections_(std::move(corrections)),
      tables_(formula.tables()),
      device_(device) {
  CHECK_INVARIANT(numbers_.size() == formula.numbers(device).size(), numbers_.size());
  CHECK_INVARIANT(corrections_.size() == tables_.size(), corrections_.size(), tables_.size());
  for (std::size_t i = 0; i < tables_.size(); ++i)
    CHECK_INVARIANT(corrections_[i].size() == num_knots(tables_[i]), i, corrections_[i].size());
}

double FittedOperator::us(const Dims& dims) const {
  const double us = formula_->us(numbers_, device_, dims);
  if (tables_.empty()) return us;
  std::vector<double> places;
  formula_->places(device_, dims, places);
  std::vector<KnotWeight> weights;
  double sum = 0;
  const double* at = places.data();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    knot_weights(tables_[i], at, weights);
    for (const KnotWeight& one : weights) sum += one.weight * corrections_[i][one.knot];
    at += tables_[i].size();
  }
  return us * det_exp(std::clamp(sum, -1.0, 1.0));
}

std::vector<double> scaled_numbers(const OperatorFormula& formula,
                                   std::vector<double> numbers,
                                   const GpuLimits& from,
                                   const GpuLimits& to) {
  const std::vector<FormulaNumber> described = formula.numbers(to);
  CHECK_INVARIANT(described.size() == numbers.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= factor(described[i].scaling, from, to);
  return numbers;
}

}  // namespace servetwin
