// The measured rows as a CSV file that only grows, so that a calibration that ends early can go on.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "calibrate/fit/step_fit.h"
#include "calibrate/measure/planned_step.h"

namespace servetwin {

// One planned step, run several times.
struct StepRowTimes {
  std::int64_t number = 0;  // of the measurement, from 0
  StepShape shape;
  std::int64_t repeats = 0;   // that count
  std::int64_t outliers = 0;  // that do not
  std::int64_t median_ns = 0;
  std::int64_t reference_ns = 0;  // the reference step's time around it
  double spread = 0;              // between the quartiles, relative to the median

  friend bool operator==(const StepRowTimes&, const StepRowTimes&) = default;
};

// Each step of a sweep is measured, then each once more: what drifts meanwhile falls on all alike.
inline constexpr std::int64_t kSweep = 32;
std::int64_t step_of_row(std::int64_t number);
// Rows of the same step as one, in order of steps. Each counts as at the mean speed of all rows, by its
// reference: a machine that others use too is not always equally fast.
std::vector<MeasuredStep> merged_steps(const std::vector<StepRowTimes>& rows);

// Median relative difference between the two rows of a step: no fit can be closer. 0 where no step has two.
double repeat_difference(const std::vector<StepRowTimes>& rows);

class RowsFile {
 public:
  // Reads what is there; a last line without its end is dropped. Throws ConfigError where the rows are of
  // another subject (the date aside), space or seed, or no such rows.
  RowsFile(std::string path, const ProfileSubject& subject, const StepSpace& space, std::uint64_t seed);

  const std::vector<StepRowTimes>& rows() const { return rows_; }
  // Writes it at once. Throws IoError.
  void append(const StepRowTimes& row);

 private:
  void read(const StepSpace& space, std::uint64_t seed);
  [[noreturn]] void fail(int line, const std::string& message) const;

  std::string path_;
  std::vector<std::string> subject_;  // the columns that are the same in every row, but for the date
  std::string date_;
  std::vector<StepRowTimes> rows_;
  std::ofstream out_;
};

}  // namespace servetwin
