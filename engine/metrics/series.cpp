// Peaks per second and the test for a trend.
#include "engine/metrics/series.h"

#include <algorithm>
#include <cmath>

namespace servetwin {

SecondSeries::Second& SecondSeries::grow(std::size_t index) {
  index = std::min(index, kMaxSeconds);
  if (index >= seconds_.size()) seconds_.resize(index + 1);
  return seconds_[index];
}

void SecondSeries::add_life(Time from, Time to) {
  ++second(from).starts;
  ++second(to + Duration{1'000'000'000}).ends;
}

std::int64_t SecondSeries::max_tokens() const {
  std::int64_t most = 0;
  for (const Second& s : seconds_) most = std::max(most, s.tokens);
  return most;
}

std::int64_t SecondSeries::max_alive() const {
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const Second& s : seconds_) {
    alive += s.starts - s.ends;
    most = std::max(most, alive);
  }
  return most;
}

TrendSeries::Interval& TrendSeries::interval(Time at) {
  auto index = static_cast<std::size_t>(at.time_since_epoch() / width_);
  while (index >= kMaxIntervals) {
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      const Interval moved = intervals_[i];
      if (i % 2 == 0) {
        intervals_[i / 2] = moved;
        continue;
      }
      Interval& into = intervals_[i / 2];
      into.arrivals += moved.arrivals;
      into.ends += moved.ends;
      into.ttft_count += moved.ttft_count;
      into.ttft_sum += moved.ttft_sum;
    }
    intervals_.resize((intervals_.size() + 1) / 2);
    width_ *= 2;
    index = static_cast<std::size_t>(at.time_since_epoch() / width_);
  }
  if (index >= intervals_.size()) intervals_.resize(index + 1);
  return intervals_[index];
}

void TrendSeries::add_ttft(Time arrival, Duration ttft) {
  Interval& into = interval(arrival);
  ++into.ttft_count;
  into.ttft_sum += to_ns(ttft);
}

Trend fit_trend(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  if (x.size() < 3) return {};
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  Trend trend;
  if (xx <= 0 || yy <= 0) return trend;
  trend.slope = xy / xx;
  const double residual = std::max(yy - trend.slope * xy, yy * 1e-12);
  trend.t = trend.slope / std::sqrt(residual / (n - 2) / xx);
  trend.rise = mean_y > 0 ? trend.slope * (x.back() - x.front()) / mean_y : 0;
  return trend;
}

SteadyState judge_steady_state(const TrendSeries& series, Time from, Time to) {
  struct Part {
    double in_system = 0;
    double intervals = 0;
    double ttft_sum = 0;
    double ttft_count = 0;
  };
  SteadyState result;
  std::vector<Part> parts(SteadyState::kParts);
  std::int64_t in_system = 0;
  const double span = to_seconds(to - from);
  for (std::size_t i = 0; i < series.intervals().size(); ++i) {
    const TrendSeries::Interval& interval = series.intervals()[i];
    in_system += interval.arrivals - interval.ends;
    const Time middle{series.width() * static_cast<std::int64_t>(i) + series.width() / 2};
    if (middle < from || middle >= to) continue;
    const double place = to_seconds(middle - from) / span * static_cast<double>(parts.size());
    Part& part = parts[std::min(static_cast<std::size_t>(place), parts.size() - 1)];
    part.in_system += static_cast<double>(in_system);
    part.intervals += 1;
    part.ttft_sum += static_cast<double>(interval.ttft_sum);
    part.ttft_count += static_cast<double>(interval.ttft_count);
  }
  std::vector<double> x;
  std::vector<double> concurrency;
  std::vector<double> ttft;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].ttft_count <= 0) return result;
    x.push_back(static_cast<double>(i));
    concurrency.push_back(parts[i].in_system / parts[i].intervals);
    ttft.push_back(parts[i].ttft_sum / parts[i].ttft_count);
  }
  result.judged = true;
  result.concurrency = fit_trend(x, concurrency);
  result.ttft = fit_trend(x, ttft);
  const auto rises = [](const Trend& t) {
    return t.t >= SteadyState::kMinT && t.rise >= SteadyState::kMinRise;
  };
  result.still_rising = rises(result.concurrency) && rises(result.ttft);
  return result;
}

}  // namespace servetwin
