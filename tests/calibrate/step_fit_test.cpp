// If these fail, a profile's prices are not those of the machine that was measured, or its error is not what
// it says.
#include "calibrate/fit/step_fit.h"

#include <cmath>

#include "tests/calibrate/step_rig.h"
#include "tests/support/catch.h"

namespace servetwin::step_fit_test {
namespace {

std::vector<MeasuredStep> steps_of(std::int64_t count, double relative_noise) {
  std::vector<MeasuredStep> steps;
  for (std::int64_t n = 0; n < count; ++n) {
    const StepShape shape = shape_of(planned_step(small_space(), 1, n));
    const double factor = 1 + relative_noise * noise(static_cast<std::uint64_t>(n));
    steps.push_back({shape, formula_ns(shape) * factor});
  }
  return steps;
}

double device_ns(const StepTerms& terms, const StepShape& shape) {
  return terms.ns(shape) + terms.context_ns * static_cast<double>(shape.decode_context);
}

TEST_CASE("without noise the fit is the formula that made the times") {
  const StepFit fit = fit_steps(steps_of(300, 0), "rows");
  CHECK(std::abs(fit.terms.context_ns / 120 - 1) < 1e-3);
  CHECK(std::abs(fit.terms.pair_ns / 40 - 1) < 1e-3);
  CHECK(fit.terms.token_knots == std::vector<std::int64_t>{8});
  for (std::int64_t n = 1000; n < 1200; ++n) {
    const StepShape shape = shape_of(planned_step(small_space(), 2, n));
    CHECK(std::abs(device_ns(fit.terms, shape) / formula_ns(shape) - 1) < 1e-3);
  }
  CHECK(fit.median_error() < 1e-3);
}

TEST_CASE("with three per cent of noise the prices are found again within the noise") {
  const StepFit fit = fit_steps(steps_of(400, 0.03), "rows");
  CHECK(std::abs(fit.terms.context_ns / 120 - 1) < 0.15);
  CHECK(std::abs(fit.terms.pair_ns / 40 - 1) < 0.05);
  double sum = 0;
  for (std::int64_t n = 1000; n < 1200; ++n) {
    const StepShape shape = shape_of(planned_step(small_space(), 2, n));
    const double error = std::abs(device_ns(fit.terms, shape) / formula_ns(shape) - 1);
    CHECK(error < 0.05);
    sum += error;
  }
  CHECK(sum / 200 < 0.01);
}

TEST_CASE("the error of steps left out is about the noise, and nine of ten lie within its interval") {
  const StepFit fit = fit_steps(steps_of(400, 0.03), "rows");
  for (const RegionError& error : {fit.error.decode, fit.error.prefill, fit.error.mixed}) {
    CHECK(error.steps > 50);
    CHECK(error.median > 0.01);  // half of the uniform noise is beyond 1.5 %
    CHECK(error.median < 0.025);
    CHECK(error.p90 > error.median);
    CHECK(error.low < 0);
    CHECK(error.high > 0);
  }
}

TEST_CASE("steps that were disturbed do not move the prices of the others") {
  std::vector<MeasuredStep> steps = steps_of(300, 0.01);
  for (std::size_t i = 10; i < steps.size(); i += 20) steps[i].ns *= 3;
  const StepFit fit = fit_steps(steps, "rows");
  for (std::int64_t n = 1000; n < 1100; ++n) {
    const StepShape shape = shape_of(planned_step(small_space(), 2, n));
    CHECK(std::abs(device_ns(fit.terms, shape) / formula_ns(shape) - 1) < 0.05);
  }
}

TEST_CASE("the domain is what was measured") {
  const StepFit fit = fit_steps(steps_of(200, 0), "rows");
  CHECK(fit.domain.tokens == 256);
  CHECK(fit.domain.sequences == 16);
  CHECK(fit.domain.context == 512);
  CHECK(fit.domain.decode_context == 4096);  // all blocks full
  StepShape beyond = shape_of(planned_step(small_space(), 1, 3));
  CHECK(fit.domain.holds(beyond));
  beyond.decode_context += 1;
  CHECK_FALSE(fit.domain.holds(beyond));
}

TEST_CASE("a fit of fewer steps than it has prices is refused") {
  const auto steps = steps_of(60, 0);
  const auto first = [&](std::size_t count) {
    return std::vector<MeasuredStep>(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count));
  };
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    const Problem problem = problem_from([&] { fit_steps(first(count), "few.csv"); });
    CHECK(problem.code == "CAL001");
    CHECK(problem.place.file == "few.csv");
    CHECK(problem.message.find("needs 5 at least") != std::string::npos);
  }
  CHECK_NOTHROW(fit_steps(first(12), "rows"));
  const std::vector<MeasuredStep> same(20, steps.front());
  CHECK(problem_from([&] { fit_steps(same, "same"); }).message.find("groups") != std::string::npos);
  CHECK(problem_from([&] { fit_host(first(4), "host"); }).code == "CAL001");
}

TEST_CASE("the host's part is found by step, row, new row and output, whatever a few steps were held up by") {
  std::vector<MeasuredStep> steps;
  for (std::int64_t n = 0; n < 200; ++n) {
    StepShape shape = shape_of(planned_step(small_space(), 1, n));
    shape.new_sequences = shape.prefill_sequences > 0 && n % 3 == 0 ? shape.prefill_sequences : 0;
    const double ns =
        80e3 + 2e3 * static_cast<double>(shape.sequences) + 30e3 * static_cast<double>(shape.new_sequences);
    steps.push_back({shape, n % 40 == 7 ? ns + 5e6 : ns});
  }
  const HostTerms host = fit_host(steps, "host");
  CHECK(std::abs(host.step_ns / 80e3 - 1) < 0.02);
  CHECK(std::abs((host.row_ns + host.sampled_ns) / 2e3 - 1) < 0.1);
  CHECK(std::abs(host.new_sequence_ns / 30e3 - 1) < 0.02);
}

TEST_CASE("numbers keep six digits") {
  CHECK(six_digits(1234567.89) == 1234570);
  CHECK(six_digits(0.000123456789) == 0.000123457);
  CHECK(six_digits(0) == 0);
}

}  // namespace
}  // namespace servetwin::step_fit_test
