// If these fail, other steps are measured than those that a scenario can come to, a calibration that broke
// off cannot go on, or what disturbed it counts.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/calibrate/step_rig.h"
#include "tests/support/catch.h"

namespace servetwin::measure_test {
namespace {

CampaignOptions for_time(Duration budget) {
  CampaignOptions options;
  options.budget = budget;
  options.good_enough = 0;
  return options;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_CASE("planned steps keep every limit of the space") {
  for (const StepSpace& space :
       {small_space(), StepSpace{64, 4, 100, 9, 8}, StepSpace{16, 32, 64, 8, 16}, StepSpace{1, 1, 2, 1, 2}}) {
    for (std::int64_t n = 0; n < 600; ++n) {
      const PlannedStep step = planned_step(space, 1, n);
      std::int64_t blocks = 0;
      INFO("step " << n << " of a space of " << space.tokens << " tokens");
      REQUIRE_FALSE(step.rows.empty());
      for (const PlannedRow& row : step.rows) {
        REQUIRE(row.tokens >= 1);
        REQUIRE(row.context >= (row.decode ? 1 : 0));
        REQUIRE(row.context + row.tokens <= space.context);
        blocks += (row.context + row.tokens + space.block_size - 1) / space.block_size;
      }
      const StepShape shape = shape_of(step);
      REQUIRE(blocks <= space.blocks);
      REQUIRE(shape.tokens <= space.tokens);
      REQUIRE(shape.sequences <= space.sequences);
      REQUIRE(shape.tokens == shape.decode_sequences + shape.prefill_tokens);
    }
  }
}

TEST_CASE("planned steps fill the space: kinds, batches, contexts and chunks, large and small") {
  std::set<std::int64_t> decodes;
  std::set<std::int64_t> chunk_powers;
  std::array<int, kNumStepRegions> regions{};
  int skewed = 0;
  for (std::int64_t n = 0; n < 300; ++n) {
    const PlannedStep step = planned_step(small_space(), 1, n);
    const StepShape shape = shape_of(step);
    ++regions[static_cast<std::size_t>(region_of(shape))];
    if (shape.prefill_sequences == 0) decodes.insert(shape.decode_sequences);
    if (shape.prefill_tokens > 0)
      chunk_powers.insert(static_cast<std::int64_t>(std::log2(shape.prefill_tokens)));
    skewed += shape.decode_sequences > 1 && 2 * step.rows.front().context < step.rows.back().context ? 1 : 0;
  }
  for (const int count : regions) CHECK(count > 60);
  CHECK(decodes.size() == 16);
  CHECK(chunk_powers.size() == 9);
  CHECK(skewed > 30);
}

TEST_CASE("the noise of a measurement is what the same steps differ by") {
  const auto row = [](std::int64_t number, std::int64_t median, std::int64_t reference) {
    StepRowTimes one;
    one.number = number;
    one.median_ns = median;
    one.reference_ns = reference;
    return one;
  };
  // Ratios 1 and 1.1, 2 and 2, 4 and 2; the fourth step has one row.
  const std::vector<StepRowTimes> rows{row(0, 10, 10),         row(1, 20, 10),      row(2, 40, 10),
                                       row(3, 7, 10),          row(kSweep, 22, 20), row(kSweep + 1, 40, 20),
                                       row(kSweep + 2, 40, 20)};
  CHECK(repeat_difference(rows) == Approx(0.1 / 1.05));
  CHECK(repeat_difference({rows[3]}) == 0);
}

TEST_CASE("a step depends on its number and the seed alone") {
  const auto shape = [](std::uint64_t seed, std::int64_t n) {
    return shape_of(planned_step(small_space(), seed, n));
  };
  CHECK(shape(1, 40) == shape(1, 40));
  CHECK_FALSE(shape(1, 40) == shape(2, 40));
  CHECK(shape(1, 3) == shape(2, 3));  // a corner
}

TEST_CASE("the time is kept, and each step of a sweep is measured twice") {
  const RowsPath file("budget.csv");
  RowsFile rows(file.path, test_subject(), small_space(), 1);
  FormulaTimer timer;
  const CampaignProgress done = measure(timer, small_space(), rows, for_time(std::chrono::seconds(8)));
  CHECK(timer.now() > std::chrono::seconds(8));
  CHECK(timer.now() < std::chrono::seconds(9));
  CHECK(done.rows == static_cast<std::int64_t>(rows.rows().size()));
  REQUIRE(done.rows > 2 * kSweep);
  CHECK(rows.rows()[5].shape == rows.rows()[5 + kSweep].shape);
  const std::int64_t rounds = done.rows / (2 * kSweep);
  const std::int64_t steps = rounds * kSweep + std::min(kSweep, done.rows % (2 * kSweep));
  CHECK(merged_steps(rows.rows()).size() == static_cast<std::size_t>(steps));
}

TEST_CASE("it ends before its time when the fit is good enough") {
  const RowsPath file("good.csv");
  RowsFile rows(file.path, test_subject(), small_space(), 1);
  FormulaTimer timer;
  CampaignOptions options = for_time(std::chrono::hours(10));
  options.good_enough = 0.01;
  const CampaignProgress done = measure(timer, small_space(), rows, options);
  REQUIRE(done.error.has_value());
  CHECK(*done.error <= 0.01);
  CHECK(done.spent < std::chrono::minutes(2));
}

TEST_CASE("a calibration that breaks off goes on where it was, also after a torn line") {
  const RowsPath once("once.csv");
  const RowsPath parts("parts.csv");
  FormulaTimer timer;
  {
    RowsFile rows(once.path, test_subject(), small_space(), 1);
    for (int i = 0; i < 3; ++i) measure(timer, small_space(), rows, for_time(Duration{1}));
  }
  {
    RowsFile rows(parts.path, test_subject(), small_space(), 1);
    measure(timer, small_space(), rows, for_time(Duration{1}));
  }
  std::ofstream(parts.path, std::ios::app) << "1,16,16,";
  ProfileSubject later = test_subject();
  {
    RowsFile rows(parts.path, later, small_space(), 1);
    CHECK(rows.rows().size() == 1);
    measure(timer, small_space(), rows, for_time(Duration{1}));
  }
  {
    RowsFile rows(parts.path, later, small_space(), 1);
    measure(timer, small_space(), rows, for_time(Duration{1}));
  }
  CHECK(text_of(parts.path) == text_of(once.path));
}

TEST_CASE("rows of another machine, space or seed are refused, rows of another day are not") {
  const RowsPath file("other.csv");
  FormulaTimer timer;
  {
    RowsFile rows(file.path, test_subject(), small_space(), 1);
    for (int i = 0; i < 12; ++i) measure(timer, small_space(), rows, for_time(Duration{1}));
  }
  const auto open = [&](const ProfileSubject& subject, const StepSpace& space, std::uint64_t seed) {
    return problem_from([&] { RowsFile(file.path, subject, space, seed); });
  };
  ProfileSubject other = test_subject();
  other.date = "2027-01-01";
  CHECK_NOTHROW(RowsFile(file.path, other, small_space(), 1));
  other.cpu = "another";
  CHECK(open(other, small_space(), 1).message.find("quoted") != std::string::npos);
  CHECK(open(test_subject(), StepSpace{128, 16, 512, 256, 16}, 1).place.line > 1);
  CHECK(open(test_subject(), small_space(), 2).place.line == 8);  // corners are the same
  std::ofstream(file.path) << "step,duration_us\n";
  CHECK(open(test_subject(), small_space(), 1).place.line == 1);
}

TEST_CASE("runs that were interrupted, and those far from the others, do not count") {
  FormulaTimer timer([](double ns, std::int64_t run) {
    const bool interrupted = run % 4 == 3;
    const double jitter = 1 + 0.002 * noise(static_cast<std::uint64_t>(run));
    const double factor = interrupted ? 2 : (run % 9 == 5 ? 1.5 : jitter);
    return TimedRun{duration_from_ns(ns * factor), interrupted};
  });
  SteadyTimer steady(timer, small_space());
  for (std::int64_t n = 0; n < 40; ++n) {
    const PlannedStep step = planned_step(small_space(), 1, n);
    const StepRowTimes row = steady.time(step);
    CHECK(std::abs(static_cast<double>(row.median_ns) / formula_ns(shape_of(step)) - 1) < 0.01);
    CHECK(row.outliers > 0);
  }
}

TEST_CASE("a machine that is sometimes slower gives the same prices as a steady one") {
  const RowsPath file("unsteady.csv");
  RowsFile rows(file.path, test_subject(), small_space(), 1);
  // Slower by 40 % for some hundred runs at a time.
  FormulaTimer timer([](double ns, std::int64_t run) {
    return TimedRun{duration_from_ns(ns * (run / 400 % 2 == 0 ? 1 : 1.4)), false};
  });
  measure(timer, small_space(), rows, for_time(std::chrono::seconds(20)));
  const StepFit fit = fit_steps(merged_steps(rows.rows()), "rows");
  CHECK(fit.median_error() < 0.01);
  const double ratio = fit.terms.pair_ns / 40;
  CHECK(ratio > 1);
  CHECK(ratio < 1.4);
  for (std::int64_t n = 1000; n < 1100; ++n) {
    const StepShape shape = shape_of(planned_step(small_space(), 2, n));
    const double ns = fit.terms.ns(shape) + fit.terms.context_ns * static_cast<double>(shape.decode_context);
    CHECK(std::abs(ns / formula_ns(shape) / ratio - 1) < 0.04);
  }
}

}  // namespace
}  // namespace servetwin::measure_test
