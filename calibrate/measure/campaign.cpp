// Repeats give a median and say which of them were disturbed; rounds of sweeps say when to stop.
#include "calibrate/measure/campaign.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/fit/nnls.h"

namespace servetwin {
namespace {

constexpr std::size_t kFewestRepeats = 3;
constexpr std::size_t kMostRepeats = 25;
constexpr Duration kLongEnough = std::chrono::milliseconds(25);  // of all repeats together
constexpr std::int64_t kRound = 2 * kSweep;
constexpr std::int64_t kReferenceTokens = 16;  // of one prompt, from nothing
constexpr int kReferenceRepeats = 3;
constexpr double kSteady = 0.05;  // by which the reference may differ
constexpr int kAttempts = 2;
constexpr std::int64_t kFewestRounds = 4;  // before the fit may be called good

// Those farther above the median than all but a few in a hundred thousand of a normal distribution.
double outlier_limit(const std::vector<double>& times) {
  constexpr double kDeviations = 4 * 1.4826;
  const double median = quantile(times, 0.5);
  std::vector<double> distances;
  for (const double time : times) distances.push_back(std::abs(time - median));
  return median + std::max(kDeviations * quantile(distances, 0.5), 0.05 * median);
}

StepRowTimes time_once(StepTimer& timer, const PlannedStep& step) {
  timer.prepare(step);
  timer.run();
  std::vector<double> times;
  double total = 0;
  const double enough = static_cast<double>(to_ns(kLongEnough));
  while (times.size() < kFewestRepeats || (total < enough && times.size() < kMostRepeats)) {
    times.push_back(static_cast<double>(to_ns(timer.run())));
    total += times.back();
  }
  const double limit = outlier_limit(times);
  const auto disturbed = std::partition(times.begin(), times.end(), [&](double t) { return t <= limit; });
  StepRowTimes row;
  row.shape = shape_of(step);
  row.outliers = times.end() - disturbed;
  times.erase(disturbed, times.end());
  row.repeats = static_cast<std::int64_t>(times.size());
  const double median = quantile(times, 0.5);
  row.median_ns = static_cast<std::int64_t>(median + 0.5);
  row.spread = six_digits((quantile(times, 0.75) - quantile(times, 0.25)) / median);
  return row;
}

std::optional<double> error_now(const RowsFile& rows) {
  try {
    return fit_steps(merged_steps(rows.rows()), "").median_error();
  } catch (const ConfigError&) {
    return std::nullopt;  // too few yet
  }
}

}  // namespace

SteadyTimer::SteadyTimer(StepTimer& timer, const StepSpace& space) : timer_(timer) {
  const std::int64_t tokens = std::min({kReferenceTokens, space.tokens, space.context});
  reference_step_.rows.push_back({0, tokens, true, false});
  before_ = reference();
}

double SteadyTimer::reference() {
  timer_.prepare(reference_step_);
  timer_.run();
  std::vector<double> times;
  for (int i = 0; i < kReferenceRepeats; ++i) times.push_back(static_cast<double>(to_ns(timer_.run())));
  return quantile(times, 0.5);
}

StepRowTimes SteadyTimer::time(const PlannedStep& step) {
  StepRowTimes row;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double before = before_;
    row = time_once(timer_, step);
    before_ = reference();
    row.reference_ns = static_cast<std::int64_t>((before + before_) / 2 + 0.5);
    if (std::abs(before_ - before) <= kSteady * before) break;
  }
  return row;
}

CampaignProgress measure(StepTimer& timer,
                         const StepSpace& space,
                         RowsFile& rows,
                         const CampaignOptions& options) {
  const Duration start = timer.now();
  SteadyTimer steady(timer, space);
  CampaignProgress progress;
  do {
    const auto number = static_cast<std::int64_t>(rows.rows().size());
    StepRowTimes row = steady.time(planned_step(space, options.seed, step_of_row(number)));
    row.number = number;
    rows.append(row);
    progress.rows = number + 1;
    progress.spent = timer.now() - start;
    if (progress.rows % kRound == 0) progress.error = error_now(rows);
    if (options.progress) options.progress(progress);
    const bool good = progress.rows >= kFewestRounds * kRound && progress.error.has_value() &&
                      *progress.error <= options.good_enough;
    if (good || (options.stop != nullptr && *options.stop)) break;
  } while (progress.spent < options.budget);
  return progress;
}

}  // namespace servetwin
