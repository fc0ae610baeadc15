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
constexpr double kPatience = 6;                                  // times that, for runs without disturbance
constexpr std::int64_t kRound = 2 * kSweep;
constexpr std::int64_t kReferenceTokens = 16;  // of one prompt, from nothing
constexpr std::size_t kReferenceRepeats = 3;
constexpr Duration kReferenceTime = std::chrono::milliseconds(2);
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

// Times of enough runs that nothing disturbed, or, where nearly every one is, the quickest quarter of all.
struct Repeats {
  std::vector<double> times;
  std::int64_t left_out = 0;
};

Repeats repeat(StepTimer& timer, std::size_t fewest, Duration long_enough) {
  std::vector<double> all;
  Repeats quiet;
  double total = 0;
  const auto enough = static_cast<double>(to_ns(long_enough));
  const auto goes_on = [&] {
    if (all.size() >= kMostRepeats) return false;
    return quiet.times.size() < fewest ? total < kPatience * enough || all.size() < fewest : total < enough;
  };
  while (goes_on()) {
    const TimedRun run = timer.run();
    all.push_back(static_cast<double>(to_ns(run.time)));
    total += all.back();
    if (!run.disturbed) quiet.times.push_back(all.back());
  }
  if (quiet.times.empty()) {
    std::sort(all.begin(), all.end());
    quiet.times.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>((all.size() + 3) / 4));
  }
  const double limit = outlier_limit(quiet.times);
  std::erase_if(quiet.times, [limit](double time) { return time > limit; });
  quiet.left_out = static_cast<std::int64_t>(all.size() - quiet.times.size());
  return quiet;
}

StepRowTimes time_once(StepTimer& timer, const PlannedStep& step) {
  timer.prepare(step);
  timer.run();
  const auto [times, left_out] = repeat(timer, kFewestRepeats, kLongEnough);
  const double median = quantile(times, 0.5);
  StepRowTimes row;
  row.shape = shape_of(step);
  row.outliers = left_out;
  row.repeats = static_cast<std::int64_t>(times.size());
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
  return quantile(repeat(timer_, kReferenceRepeats, kReferenceTime).times, 0.5);
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
  } while (progress.spent < options.budget || progress.rows < options.fewest_rows);
  return progress;
}

}  // namespace servetwin
