// Distributions of non-negative integers (nanoseconds, tokens): exact up to a stated size, a sketch of stated
// error above.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace servetwin {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

// The integer as a double, rounded once; numerator / denominator without losing the whole part.
double ratio_of(Int128 numerator, std::int64_t denominator);

// A log-linear histogram: values below 256 have a bucket each, every further power of two is cut into 128
// equal buckets, so a bucket's middle is within 1/256 of every value in it.
class LogHistogram {
 public:
  static constexpr int kMantissaBits = 7;
  static constexpr std::size_t kNumBuckets = 57U << kMantissaBits;

  static constexpr std::size_t bucket_of(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    constexpr int kShiftOrigin = 63 - kMantissaBits;
    const int shift = kShiftOrigin - __builtin_clzll(bits | (1ULL << kMantissaBits));
    return (static_cast<std::size_t>(shift) << kMantissaBits) + static_cast<std::size_t>(bits >> shift);
  }
  static double middle_of(std::size_t bucket);

  void add(std::int64_t value, std::int64_t count) { counts_[bucket_of(value)] += count; }
  void merge(const LogHistogram& other);
  const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(kNumBuckets);
};

inline constexpr std::array<int, 5> kQuantilesPerMille = {500, 900, 950, 990, 999};

// What a report says of a sample; all but the count are null when there is nothing, std also when the sum of
// squares left 128 bits. Same unit as the values. Quantiles are type 7 (linear), std divides by the count.
struct Distribution {
  std::int64_t count = 0;
  bool exact = true;  // false: quantiles are within 1/256 of the exact ones
  std::optional<double> mean;
  std::optional<double> std;
  std::optional<double> min;
  std::optional<double> max;
  std::array<std::optional<double>, kQuantilesPerMille.size()> quantiles;

  const std::optional<double>& median() const { return quantiles[0]; }
  const std::optional<double>& p90() const { return quantiles[1]; }
  const std::optional<double>& p95() const { return quantiles[2]; }
  const std::optional<double>& p99() const { return quantiles[3]; }
  const std::optional<double>& p999() const { return quantiles[4]; }
};

// Exact sums of values with counts.
struct Moments {
  std::int64_t count = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
  Int128 sum = 0;
  Uint128 square_sum = 0;
  bool overflow = false;  // of square_sum

  void add(std::int64_t value, std::int64_t times);
  void merge(const Moments& other);
  // Of at least one value; nothing after an overflow.
  std::optional<double> deviation() const;
};

// A sample of values with counts. Up to `exact_limit` entries (runs of one value) every one is kept; above,
// only the histogram. Count, sum, minimum, maximum and deviation are exact always.
class Samples {
 public:
  static constexpr std::size_t kExactLimit = std::size_t{1} << 17;

  explicit Samples(std::size_t exact_limit = kExactLimit) : limit_(exact_limit) {}

  // `value` is not negative, `count` is positive. Cheap: the work is done in batches.
  void add(std::int64_t value, std::int64_t count = 1) {
    if (used_ == 0 || used_ == room_ || value < 0) [[unlikely]]
      return add_with_care(value, count);
    Entry& last = entries_[used_ - 1];
    if (last.value == value) {
      last.count += count;
    } else {
      entries_[used_++] = {value, count};
    }
  }
  void merge(const Samples& other);

  bool exact() const { return sketch_.empty(); }
  Moments moments() const;
  Distribution distribution() const;
  // For each ascending bound how many values are at most that; from the sketch, a value within 1/256 of a
  // bound may count on its wrong side.
  std::vector<std::int64_t> cumulative(const std::vector<std::int64_t>& bounds) const;

 private:
  struct Entry {
    std::int64_t value;
    std::int64_t count;
  };

  // Where there may be no last entry or no room for another.
  [[gnu::noinline]] void add_with_care(std::int64_t value, std::int64_t count);
  void make_room();
  void fold();
  const Entry* begin() const { return entries_.data(); }
  const Entry* end() const { return entries_.data() + used_; }
  // Ascending (value, count) pairs: the entries themselves, or the middles of the buckets.
  std::vector<std::pair<double, std::int64_t>> sorted() const;

  std::size_t limit_;
  std::vector<Entry> entries_;  // the first `used_`: all, or with a sketch those that are not in it yet
  std::size_t used_ = 0;
  std::size_t room_ = 0;              // entries_.size()
  Moments folded_;                    // of what is in the sketch
  std::vector<LogHistogram> sketch_;  // none or one
};

}  // namespace servetwin
