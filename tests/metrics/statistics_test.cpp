// If this fails, percentiles, means or deviations in reports are wrong.
#include "engine/metrics/statistics.h"

#include <algorithm>
#include <cmath>

#include "tests/support/catch.h"

namespace servetwin::statistics_test {
namespace {

// The definition of type 7, straight from a sorted list.
double naive_quantile(std::vector<std::int64_t> values, int per_mille) {
  std::sort(values.begin(), values.end());
  const double place = static_cast<double>(values.size() - 1) * per_mille / 1000.0;
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const auto low = static_cast<double>(values[below]);
  return low + (static_cast<double>(values[above]) - low) * (place - static_cast<double>(below));
}

// Numbers of very different size, the same in every run.
std::vector<std::int64_t> spread_values(std::size_t count, std::uint64_t seed) {
  std::vector<std::int64_t> values;
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto shift = static_cast<int>(state >> 59);
    values.push_back(static_cast<std::int64_t>((state >> 20) >> shift));
  }
  return values;
}

void check_same(const Distribution& a, const Distribution& b) {
  CHECK(a.count == b.count);
  CHECK(a.mean == b.mean);
  CHECK(a.std == b.std);
  CHECK(a.min == b.min);
  CHECK(a.max == b.max);
  CHECK(a.quantiles == b.quantiles);
}

TEST_CASE("quantiles of exact samples are those of a sorted list") {
  for (const std::size_t count : {1U, 2U, 3U, 10U, 11U, 999U, 1000U, 1001U, 5000U}) {
    const auto values = spread_values(count, count);
    Samples samples;
    for (const std::int64_t v : values) samples.add(v);
    const Distribution d = samples.distribution();
    REQUIRE(d.exact);
    REQUIRE(d.count == static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < kQuantilesPerMille.size(); ++i) {
      CHECK(*d.quantiles[i] == Approx(naive_quantile(values, kQuantilesPerMille[i])).epsilon(1e-12));
    }
  }
}

TEST_CASE("a value with a count is that many values") {
  const auto values = spread_values(400, 3);
  Samples counted;
  Samples repeated;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto count = static_cast<std::int64_t>(i % 7 + 1);
    counted.add(values[i], count);
    for (std::int64_t k = 0; k < count; ++k) repeated.add(values[i]);
  }
  check_same(counted.distribution(), repeated.distribution());
}

TEST_CASE("counts that begin after plain values are kept apart from them") {
  Samples samples;
  samples.add(10);
  samples.add(10);
  samples.add(20, 3);
  samples.add(20);
  const Distribution d = samples.distribution();
  CHECK(d.count == 6);
  CHECK(d.median() == 20.0);
  CHECK(d.mean == 100.0 / 6);
}

TEST_CASE("the deviation divides by the count and survives a large common offset") {
  Samples samples;
  for (const std::int64_t v : {2, 4, 4, 4, 5, 5, 7, 9}) samples.add(v + 1'000'000'000'000'000);
  const Distribution d = samples.distribution();
  CHECK(d.mean == 1'000'000'000'000'005.0);
  CHECK(d.std == 2.0);
}

TEST_CASE("a deviation that would leave 128 bits is null, not wrong") {
  Samples samples;
  samples.add(std::int64_t{1} << 62, std::int64_t{1} << 10);
  CHECK(!samples.distribution().std);
  Samples near;
  near.add(std::int64_t{1} << 43, std::int64_t{1} << 40);
  CHECK(near.distribution().std == 0.0);
}

TEST_CASE("an empty sample has a count and nothing else") {
  const Distribution d = Samples().distribution();
  CHECK(d.count == 0);
  CHECK(!d.mean);
  CHECK(!d.std);
  CHECK(!d.min);
  CHECK(!d.median());
}

TEST_CASE("every value lies within 1/256 of the middle of its bucket") {
  auto values = spread_values(20000, 11);
  for (int bit = 0; bit < 63; ++bit) {
    for (const std::int64_t near : {-1, 0, 1})
      values.push_back(std::max<std::int64_t>((std::int64_t{1} << bit) + near, 0));
  }
  values.push_back(INT64_MAX);
  for (const std::int64_t v : values) {
    const std::size_t bucket = LogHistogram::bucket_of(v);
    REQUIRE(bucket < LogHistogram::kNumBuckets);
    const double error = std::fabs(LogHistogram::middle_of(bucket) - static_cast<double>(v));
    INFO("value " << v);
    CHECK(error <= static_cast<double>(v) / 256);
  }
}

TEST_CASE("a larger value never has a smaller bucket") {
  auto values = spread_values(5000, 5);
  std::sort(values.begin(), values.end());
  for (std::size_t i = 1; i < values.size(); ++i) {
    CHECK(LogHistogram::bucket_of(values[i - 1]) <= LogHistogram::bucket_of(values[i]));
  }
}

TEST_CASE("above the exact size quantiles are within 1/256, the other figures exact") {
  const auto values = spread_values(10000, 17);
  Samples exact;
  Samples sketch(100);
  for (const std::int64_t v : values) {
    exact.add(v);
    sketch.add(v);
  }
  const Distribution a = exact.distribution();
  const Distribution b = sketch.distribution();
  CHECK(a.exact);
  CHECK(!b.exact);
  CHECK(a.mean == b.mean);
  CHECK(a.std == b.std);
  CHECK(a.min == b.min);
  CHECK(a.max == b.max);
  for (std::size_t i = 0; i < a.quantiles.size(); ++i) {
    CHECK(std::fabs(*a.quantiles[i] - *b.quantiles[i]) <= *a.quantiles[i] / 256);
  }
}

TEST_CASE("merging gives what one sample of all values gives, in either order") {
  const auto values = spread_values(3000, 23);
  for (const std::size_t limit : {10000U, 500U, 2000U}) {
    Samples all(limit);
    Samples left(limit);
    Samples right(limit);
    for (std::size_t i = 0; i < values.size(); ++i) {
      all.add(values[i]);
      (i < 700 ? left : right).add(values[i]);
    }
    Samples left_first = left;
    left_first.merge(right);
    Samples right_first = right;
    right_first.merge(left);
    check_same(left_first.distribution(), all.distribution());
    check_same(right_first.distribution(), all.distribution());
  }
}

TEST_CASE("cumulative counts are those of counting each value") {
  const auto values = spread_values(2000, 29);
  const std::vector<std::int64_t> bounds = {0, 10, 1000, 1'000'000, 1'000'000'000'000};
  Samples samples;
  for (const std::int64_t v : values) samples.add(v);
  samples.add(1000, 5);
  const auto totals = samples.cumulative(bounds);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto naive =
        std::count_if(values.begin(), values.end(), [&](std::int64_t v) { return v <= bounds[i]; });
    CHECK(totals[i] == naive + (bounds[i] >= 1000 ? 5 : 0));
  }
}

}  // namespace
}  // namespace servetwin::statistics_test
