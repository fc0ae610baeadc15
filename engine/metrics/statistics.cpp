// Moments by exact integer sums, quantiles by selection, and the sketch that takes over above the exact size.
#include "engine/metrics/statistics.h"

#include <algorithm>
#include <cmath>

namespace servetwin {
namespace {

// Below these a value times a count fits 63 bits, and a square times a count 106.
constexpr std::int64_t kPlainValue = std::int64_t{1} << 43;
constexpr std::int64_t kPlainCount = std::int64_t{1} << 20;

// times * value^2 modulo 2^128; raises `overflow` where that is not the true product.
Uint128 times_square(std::int64_t value, std::int64_t times, bool& overflow) {
  const auto wide = static_cast<Uint128>(value);
  if (value < kPlainValue && times < kPlainCount) [[likely]] {
    return static_cast<Uint128>(value * times) * wide;
  }
  const Uint128 square = wide * wide;
  const Uint128 term = square * static_cast<Uint128>(times);
  if (square != 0 && term / square != static_cast<Uint128>(times)) overflow = true;
  return term;
}

// How many entries wait to be folded once there is a sketch.
constexpr std::size_t kBatch = 256;

// The k-th smallest value, for ascending k from call to call.
class Ranks {
 public:
  explicit Ranks(const std::vector<std::pair<double, std::int64_t>>& sorted) : sorted_(sorted) {}

  double at(std::int64_t rank) {
    while (passed_ + sorted_[entry_].second <= rank) passed_ += sorted_[entry_++].second;
    return sorted_[entry_].first;
  }
  // The value after it, without moving on.
  double after(std::int64_t rank) const {
    const bool last_of_run = passed_ + sorted_[entry_].second == rank + 1;
    return last_of_run && entry_ + 1 < sorted_.size() ? sorted_[entry_ + 1].first : sorted_[entry_].first;
  }

 private:
  const std::vector<std::pair<double, std::int64_t>>& sorted_;
  std::size_t entry_ = 0;
  std::int64_t passed_ = 0;
};

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

void Moments::add(std::int64_t value, std::int64_t times) {
  if (count == 0) min = value;
  min = std::min(min, value);
  max = std::max(max, value);
  count += times;
  sum += static_cast<Int128>(value) * times;
  const Uint128 term = times_square(value, times, overflow);
  square_sum += term;
  if (square_sum < term) overflow = true;
}

void Moments::merge(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) min = other.min;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  count += other.count;
  sum += other.sum;
  square_sum += other.square_sum;
  overflow = overflow || other.overflow || square_sum < other.square_sum;
}

std::optional<double> Moments::deviation() const {
  if (overflow) return std::nullopt;
  // Sum of squares less sum^2 / n, with sum = q n + r: every term fits, only r^2 / n is rounded.
  const auto n = static_cast<Uint128>(count);
  const auto total = static_cast<Uint128>(sum);
  const Uint128 q = total / n;
  const Uint128 r = total % n;
  const Uint128 whole = square_sum - q * q * n - 2 * q * r;
  const double rest = static_cast<double>(r) * (static_cast<double>(r) / static_cast<double>(n));
  const double squares = static_cast<double>(whole) - rest;
  return squares > 0 ? std::sqrt(squares / static_cast<double>(n)) : 0.0;
}

void Samples::add_with_care(std::int64_t value, std::int64_t count) {
  CHECK_INVARIANT(value >= 0, value);
  if (used_ > 0 && entries_[used_ - 1].value == value) {
    entries_[used_ - 1].count += count;
    return;
  }
  if (used_ == room_) make_room();
  entries_[used_++] = {value, count};
}

void Samples::make_room() {
  if (used_ >= limit_) return fold();
  room_ = std::min(limit_, std::max<std::size_t>(64, used_ * 2));
  entries_.resize(room_);
}

void Samples::fold() {
  if (sketch_.empty()) {
    sketch_.emplace_back();
    limit_ = kBatch;
  }
  Moments folded = folded_;  // a copy stays in registers
  LogHistogram& sketch = sketch_.front();
  for (const Entry& entry : *this) {
    folded.add(entry.value, entry.count);
    sketch.add(entry.value, entry.count);
  }
  folded_ = folded;
  if (entries_.size() != limit_) entries_ = std::vector<Entry>(limit_);
  room_ = limit_;
  used_ = 0;
}

void Samples::merge(const Samples& other) {
  if (!other.sketch_.empty()) {
    fold();
    sketch_.front().merge(other.sketch_.front());
    folded_.merge(other.folded_);
  }
  for (const Entry& entry : other) add(entry.value, entry.count);
}

Moments Samples::moments() const {
  Moments all = folded_;
  for (const Entry& entry : *this) all.add(entry.value, entry.count);
  return all;
}

std::vector<std::pair<double, std::int64_t>> Samples::sorted() const {
  std::vector<std::pair<double, std::int64_t>> pairs;
  if (exact()) {
    for (const Entry& entry : *this) pairs.emplace_back(static_cast<double>(entry.value), entry.count);
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }
  LogHistogram all = sketch_.front();
  for (const Entry& entry : *this) all.add(entry.value, entry.count);
  for (std::size_t i = 0; i < all.counts().size(); ++i) {
    if (all.counts()[i] != 0) pairs.emplace_back(LogHistogram::middle_of(i), all.counts()[i]);
  }
  return pairs;
}

Distribution Samples::distribution() const {
  Distribution result;
  result.exact = exact();
  const Moments all = moments();
  result.count = all.count;
  if (all.count == 0) return result;
  result.mean = ratio_of(all.sum, all.count);
  result.std = all.deviation();
  result.min = static_cast<double>(all.min);
  result.max = static_cast<double>(all.max);
  const auto pairs = sorted();
  Ranks ranks(pairs);
  for (std::size_t i = 0; i < kQuantilesPerMille.size(); ++i) {
    const Int128 place = static_cast<Int128>(all.count - 1) * kQuantilesPerMille[i];
    const auto rank = static_cast<std::int64_t>(place / 1000);
    const double low = ranks.at(rank);
    const double value = low + (ranks.after(rank) - low) * (static_cast<double>(place % 1000) / 1000);
    result.quantiles[i] = std::clamp(value, *result.min, *result.max);
  }
  return result;
}

std::vector<std::int64_t> Samples::cumulative(const std::vector<std::int64_t>& bounds) const {
  const auto pairs = sorted();
  std::vector<std::int64_t> totals;
  std::size_t next = 0;
  std::int64_t total = 0;
  for (const std::int64_t bound : bounds) {
    for (; next < pairs.size() && pairs[next].first <= static_cast<double>(bound); ++next)
      total += pairs[next].second;
    totals.push_back(total);
  }
  return totals;
}

}  // namespace servetwin
