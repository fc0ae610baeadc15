// Moments by exact integer sums, quantiles by selection, and the sketch that takes over above the exact size.
#include "engine/metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

// Below these a square times a count stays under 2^126.
constexpr std::int64_t kPlainValue = std::int64_t{1} << 43;
constexpr std::int64_t kPlainCount = std::int64_t{1} << 40;

using Ranks = std::array<std::int64_t, 2 * kQuantilesPerMille.size()>;
using RankValues = std::array<double, 2 * kQuantilesPerMille.size()>;

// The order statistics on both sides of each quantile, ascending in pairs.
Ranks ranks_for(std::int64_t count) {
  Ranks ranks{};
  for (std::size_t i = 0; i < kQuantilesPerMille.size(); ++i) {
    const std::int64_t below =
        static_cast<std::int64_t>(static_cast<Int128>(count - 1) * kQuantilesPerMille[i] / 1000);
    ranks[2 * i] = below;
    ranks[2 * i + 1] = std::min(below + 1, count - 1);
  }
  return ranks;
}

// Each rank's value where entries(i) gives ascending (value, count) pairs.
template <class Entries>
RankValues walk(const Ranks& ranks, std::size_t size, Entries entries) {
  // Ranks come in overlapping pairs, so each is walked for by its own cursor position.
  RankValues values{};
  std::array<std::size_t, 2 * kQuantilesPerMille.size()> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair{ranks[a], a} < std::pair{ranks[b], b};
  });
  std::size_t entry = 0;
  std::int64_t passed = 0;
  for (const std::size_t i : order) {
    while (entry < size && passed + entries(entry).second <= ranks[i]) passed += entries(entry++).second;
    values[i] = entries(entry).first;
  }
  return values;
}

}  // namespace

double ratio_of(Int128 numerator, std::int64_t denominator) {
  const auto whole = static_cast<double>(numerator / denominator);
  return whole + static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
}

double LogHistogram::middle_of(std::size_t bucket) {
  constexpr std::size_t kFirstShifted = std::size_t{2} << kMantissaBits;
  if (bucket < kFirstShifted) return static_cast<double>(bucket);
  const std::size_t shift = (bucket >> kMantissaBits) - 1;
  const std::uint64_t lower = (bucket - (shift << kMantissaBits)) << shift;
  return static_cast<double>(lower) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
}

void LogHistogram::merge(const LogHistogram& other) {
  for (std::size_t i = 0; i < kNumBuckets; ++i) counts_[i] += other.counts_[i];
}

void Samples::add(std::int64_t value, std::int64_t count) {
  CHECK_INVARIANT(value >= 0, value);
  CHECK_INVARIANT(count > 0, count);
  if (count_ == 0) min_ = value;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += count;
  sum_ += static_cast<Int128>(value) * count;
  add_square(value, count);
  store(value, count);
}

void Samples::add_square(std::int64_t value, std::int64_t count) {
  const auto wide = static_cast<Uint128>(value);
  const Uint128 square = wide * wide;
  Uint128 term = square * static_cast<Uint128>(count);
  if (value >= kPlainValue || count >= kPlainCount) [[unlikely]] {
    if (square != 0 && term / square != static_cast<Uint128>(count)) square_overflow_ = true;
  }
  square_sum_ += term;
  if (square_sum_ < term) square_overflow_ = true;
}

void Samples::store(std::int64_t value, std::int64_t count) {
  if (!sketch_.empty()) {
    sketch_.front().add(value, count);
    return;
  }
  if (!counts_.empty() && values_.back() == value) {
    counts_.back() += count;
    return;
  }
  if (values_.size() == exact_limit_) {
    spill();
    sketch_.front().add(value, count);
    return;
  }
  if (count != 1 && counts_.empty()) counts_.assign(values_.size(), 1);
  const bool weighted = count != 1 || !counts_.empty();
  values_.push_back(value);
  if (weighted) counts_.push_back(count);
}

void Samples::spill() {
  LogHistogram histogram;
  for (std::size_t i = 0; i < values_.size(); ++i)
    histogram.add(values_[i], counts_.empty() ? 1 : counts_[i]);
  sketch_.push_back(std::move(histogram));
  values_ = {};
  counts_ = {};
}

void Samples::merge(const Samples& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) min_ = other.min_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  square_sum_ += other.square_sum_;
  square_overflow_ = square_overflow_ || other.square_overflow_ || square_sum_ < other.square_sum_;
  if (!other.sketch_.empty() && sketch_.empty()) spill();
  if (!other.sketch_.empty()) sketch_.front().merge(other.sketch_.front());
  for (std::size_t i = 0; i < other.values_.size(); ++i) {
    store(other.values_[i], other.counts_.empty() ? 1 : other.counts_[i]);
  }
}

std::optional<double> Samples::std_deviation() const {
  if (square_overflow_) return std::nullopt;
  // Sum of squares less sum^2 / n, with sum = q n + r: every term fits, only r^2 / n is rounded.
  const auto n = static_cast<Uint128>(count_);
  const auto sum = static_cast<Uint128>(sum_);
  const Uint128 q = sum / n;
  const Uint128 r = sum % n;
  const Uint128 whole = square_sum_ - q * q * n - 2 * q * r;
  const double rest = static_cast<double>(r) * (static_cast<double>(r) / static_cast<double>(n));
  const double deviation = static_cast<double>(whole) - rest;
  return deviation > 0 ? std::sqrt(deviation / static_cast<double>(n)) : 0.0;
}

std::vector<Samples::Entry> Samples::sorted_entries() const {
  std::vector<Entry> entries(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i)
    entries[i] = {values_[i], counts_.empty() ? 1 : counts_[i]};
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  return entries;
}

RankValues Samples::values_at(const Ranks& ranks) const {
  if (!sketch_.empty()) {
    const auto& counts = sketch_.front().counts();
    return walk(ranks, counts.size(), [&](std::size_t i) {
      const double middle = LogHistogram::middle_of(i);
      return std::pair{std::clamp(middle, static_cast<double>(min_), static_cast<double>(max_)), counts[i]};
    });
  }
  if (!counts_.empty()) {
    const std::vector<Entry> entries = sorted_entries();
    return walk(ranks, entries.size(), [&](std::size_t i) {
      return std::pair{static_cast<double>(entries[i].value), entries[i].count};
    });
  }
  RankValues values{};
  std::vector<std::int64_t> scratch = values_;
  auto from = scratch.begin();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    // Selecting an earlier rank again finds it in place: everything before `from` is final.
    const auto at = scratch.begin() + ranks[i];
    if (at >= from) {
      std::nth_element(from, at, scratch.end());
      from = at + 1;
    }
    values[i] = static_cast<double>(*at);
  }
  return values;
}

Distribution Samples::distribution() const {
  Distribution result;
  result.count = count_;
  result.exact = exact();
  if (count_ == 0) return result;
  result.mean = ratio_of(sum_, count_);
  result.std = std_deviation();
  result.min = static_cast<double>(min_);
  result.max = static_cast<double>(max_);
  const RankValues values = values_at(ranks_for(count_));
  for (std::size_t i = 0; i < kQuantilesPerMille.size(); ++i) {
    const auto rest = static_cast<double>(static_cast<Int128>(count_ - 1) * kQuantilesPerMille[i] % 1000);
    result.quantiles[i] = values[2 * i] + (values[2 * i + 1] - values[2 * i]) * (rest / 1000);
  }
  return result;
}

std::vector<std::int64_t> Samples::cumulative(const std::vector<std::int64_t>& bounds) const {
  std::vector<std::int64_t> totals(bounds.size() + 1);
  const auto bucket_for = [&](double value) {
    return static_cast<std::size_t>(
        std::lower_bound(bounds.begin(), bounds.end(), value,
                         [](std::int64_t bound, double v) { return static_cast<double>(bound) < v; }) -
        bounds.begin());
  };
  if (!sketch_.empty()) {
    const auto& counts = sketch_.front().counts();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != 0) totals[bucket_for(LogHistogram::middle_of(i))] += counts[i];
    }
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    totals[bucket_for(static_cast<double>(values_[i]))] += counts_.empty() ? 1 : counts_[i];
  }
  totals.pop_back();
  for (std::size_t i = 1; i < totals.size(); ++i) totals[i] += totals[i - 1];
  return totals;
}

}  // namespace servetwin
