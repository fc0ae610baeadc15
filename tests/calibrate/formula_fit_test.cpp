// If this fails, a fit does not find the numbers that made the measurements, or is tested on what it saw.
#include "calibrate/operators/formula_fit.h"

#include <cmath>

#include "calibrate/operators/levenberg.h"
#include "engine/base/registry.h"
#include "engine/base/rng.h"
#include "tests/support/catch.h"

namespace servetwin::formula_fit_test {
namespace {

constexpr GpuLimits kDevice{989e6, 3.35e6, 450e3, 132};

// y = a + b x, one table of corrections over log2 x.
class Line final : public OperatorFormula {
 public:
  std::vector<FormulaNumber> numbers(const GpuLimits& /*device*/) const override {
    return {{"a", 1, 0}, {"b", 1, 0, Scaling::kMemoryTime}};
  }
  double us(const std::vector<double>& p, const GpuLimits& /*device*/, const Dims& dims) const override {
    return p[0] + p[1] * dims[0];
  }
  std::vector<Axes> tables() const override { return {{{0, 4, 8}}}; }
  void places(const GpuLimits& /*device*/, const Dims& dims, std::vector<double>& out) const override {
    out.push_back(std::log2(dims[0]));
  }
};

std::vector<OperatorSample> samples_of(double (*us)(double)) {
  std::vector<OperatorSample> samples;
  for (int group = 0; group < 20; ++group) {
    for (int x = 1; x <= 256; x *= 2) {
      OperatorSample sample{"line", "any", std::to_string(group), {}, 0};
      sample.dims[0] = x;
      sample.us = us(x);
      samples.push_back(sample);
    }
  }
  return samples;
}

std::vector<const OperatorSample*> pointers(const std::vector<OperatorSample>& samples) {
  std::vector<const OperatorSample*> out;
  for (const OperatorSample& one : samples) out.push_back(&one);
  return out;
}

TEST_CASE("damped least squares find the numbers that made the residuals") {
  LeastSquares problem;
  problem.start = {0, 0};
  problem.pull = {0, 0};
  problem.weights.assign(5, 1);
  problem.residuals = [](const std::vector<double>& x) {
    std::vector<double> out;
    for (int i = 1; i <= 5; ++i)
      out.push_back(std::log((std::exp(x[0]) + std::exp(x[1]) * i) / (3.0 + 0.5 * i)));
    return out;
  };
  const std::vector<double> found = minimise(problem);
  CHECK(std::exp(found[0]) == Approx(3).epsilon(1e-3));
  CHECK(std::exp(found[1]) == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("a fit finds the formula's numbers and needs no corrections then") {
  const auto samples = samples_of([](double x) { return 12 + 0.25 * x; });
  const FormulaFit fit = fit_formula(Line(), kDevice, pointers(samples), {});
  CHECK(fit.numbers[0] == Approx(12).epsilon(1e-2));
  CHECK(fit.numbers[1] == Approx(0.25).epsilon(1e-2));
  for (const double value : fit.corrections.front()) CHECK(std::abs(value) < 0.01);
}

TEST_CASE("what the formula misses becomes its corrections") {
  const auto bent = [](double x) { return (12 + 0.25 * x) * (x > 100 ? 1.3 : 1.0); };
  const auto samples = samples_of(+bent);
  FitSettings settings;
  settings.ridge = 0.01;
  const FormulaFit fit = fit_formula(Line(), kDevice, pointers(samples), settings);
  const Line line;
  const FittedOperator with(line, fit.numbers, fit.corrections, kDevice);
  const FittedOperator without(line, fit.numbers, {{0, 0, 0}}, kDevice);
  Dims dims{};
  dims[0] = 256;
  CHECK(std::abs(with.us(dims) / bent(256) - 1) < 0.5 * std::abs(without.us(dims) / bent(256) - 1) + 0.01);
}

TEST_CASE("errors of a fit are those of groups that it did not see") {
  auto samples = samples_of([](double x) { return 12 + 0.25 * x; });
  // One group is twice as slow: seen by every other fold, it must be missed when it is left out.
  for (OperatorSample& one : samples) one.us *= one.group == "7" ? 2 : 1;
  const Line line;
  const auto predicted = predicted_left_out(line, kDevice, pointers(samples), {});
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double error = predicted[i] / samples[i].us - 1;
    if (samples[i].group == "7")
      CHECK(error < -0.4);
    else
      CHECK(std::abs(error) < 0.1);
  }
}

TEST_CASE("fewer measurements than numbers are an error") {
  auto samples = samples_of([](double x) { return x; });
  samples.resize(2);
  CHECK_THROWS_WITH(fit_formula(Line(), kDevice, pointers(samples), {}),
                    Catch::Contains("cannot give 2 numbers"));
}

TEST_CASE("errors are summed up by count and by time") {
  const FitError error = error_of({1, 1, 1, 97}, {1.5, 1.5, 1.5, 97.97});
  CHECK(error.median == Approx(0.5));
  CHECK(error.time_median == Approx(0.01));
}

TEST_CASE("numbers of a formula carry over by what they are") {
  GpuLimits twice = kDevice;
  twice.bytes *= 2;
  CHECK(scaled_numbers(Line(), {8, 4}, kDevice, twice) == std::vector<double>{8, 2});
}

}  // namespace
}  // namespace servetwin::formula_fit_test
