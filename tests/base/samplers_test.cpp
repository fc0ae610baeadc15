// If this fails, simulated traffic does not follow the distribution it names, or changes between builds.
// Each statistical test is a Kolmogorov-Smirnov or chi-square test at a false-alarm rate of one in 10,000, on
// fixed seeds: it passes or fails for good. Every distribution's CDF is Boost.Math's.
#include "engine/base/samplers.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/exponential.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/lognormal.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/distributions/weibull.hpp>
#include <cmath>
#include <limits>

#include "engine/base/digest.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::samplers_test {
namespace {

constexpr std::uint32_t kDraws = 50'000;
constexpr double kFalseAlarm = 1e-4;

// Whether the samples are too far from the CDF. The limit is that of the asymptotic KS distribution, whose
// tail is 2 exp(-2 t^2) for large t.
template <class Sampler, class Distribution>
bool follows(Sampler sampler, const Distribution& distribution) {
  std::vector<double> samples;
  for (std::uint32_t i = 0; i < kDraws; ++i)
    samples.push_back(sampler(StreamKey{17, Stream::kTest, i % 10}, i));
  std::sort(samples.begin(), samples.end());
  double distance = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double expected = cdf(distribution, samples[i]);
    const auto below = static_cast<double>(i);
    distance = std::max({distance, expected - below / kDraws, (below + 1) / kDraws - expected});
  }
  return distance * std::sqrt(static_cast<double>(kDraws)) < std::sqrt(0.5 * std::log(2 / kFalseAlarm));
}

// Chi-square of counts against expected counts; cells that expect under 10 go into their neighbour.
bool agree(const std::vector<double>& counts, const std::vector<double>& expected) {
  double statistic = 0;
  int cells = 0;
  double count = 0;
  double due = 0;
  double left = kDraws;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    count += counts[i];
    due += expected[i];
    if (due < 10 || (left - due < 10 && i + 1 < counts.size())) continue;
    statistic += (count - due) * (count - due) / due;
    left -= due;
    ++cells;
    count = 0;
    due = 0;
  }
  const boost::math::chi_squared_distribution<double> chi_squared(cells - 1);
  return statistic < quantile(complement(chi_squared, kFalseAlarm));
}

bool poisson_follows(double mean) {
  const auto cells = static_cast<std::size_t>(mean + 20 * std::sqrt(mean) + 20);
  std::vector<double> counts(cells);
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const std::int64_t sample = sample_poisson({19, Stream::kTest, 0}, i, mean);
    REQUIRE(sample >= 0);
    counts[std::min(static_cast<std::size_t>(sample), cells - 1)] += 1;
  }
  const boost::math::poisson_distribution<double> poisson(mean);
  std::vector<double> expected;
  for (std::size_t k = 0; k + 1 < cells; ++k)
    expected.push_back(kDraws * pdf(poisson, static_cast<double>(k)));
  expected.push_back(kDraws * cdf(complement(poisson, static_cast<double>(cells - 2))));
  return agree(counts, expected);
}

TEST_CASE("continuous samplers follow their distributions") {
  using Key = const StreamKey&;
  CHECK(follows([](Key key, std::uint32_t i) { return sample_exponential(key, i, 2.5); },
                boost::math::exponential_distribution<double>(1 / 2.5)));
  CHECK(follows([](Key key, std::uint32_t i) { return sample_normal(key, i, -3, 2); },
                boost::math::normal_distribution<double>(-3, 2)));
  CHECK(follows([](Key key, std::uint32_t i) { return sample_lognormal(key, i, 5, 0.8); },
                boost::math::lognormal_distribution<double>(5, 0.8)));
  CHECK(follows([](Key key, std::uint32_t i) { return sample_weibull(key, i, 0.7, 3); },
                boost::math::weibull_distribution<double>(0.7, 3)));
}

TEST_CASE("gamma samples follow the distribution for shapes on both sides of one") {
  for (const double shape : {0.05, 0.25, 0.9, 1.0, 1.7, 4.0, 100.0}) {
    INFO(shape);
    CHECK(follows([=](const StreamKey& key, std::uint32_t i) { return sample_gamma(key, i, shape, 2); },
                  boost::math::gamma_distribution<double>(shape, 2)));
  }
}

TEST_CASE("a test of this size tells a neighbouring distribution apart") {
  CHECK_FALSE(follows([](const StreamKey& key, std::uint32_t i) { return sample_gamma(key, i, 1.0, 2); },
                      boost::math::gamma_distribution<double>(1.05, 2)));
}

TEST_CASE("Poisson samples follow the distribution on both sides of the change of method") {
  CHECK(sample_poisson({1, Stream::kTest, 0}, 0, 0) == 0);
  for (const double mean : {0.01, 0.7, 4.0, 9.99, 10.0, 13.3, 100.0, 5000.0}) {
    INFO(mean);
    CHECK(poisson_follows(mean));
  }
}

TEST_CASE("uniform integers are equally likely and reach both ends") {
  std::vector<double> counts(7);
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const std::int64_t sample = sample_uniform_int({23, Stream::kTest, 0}, i, -3, 3);
    REQUIRE(sample >= -3);
    REQUIRE(sample <= 3);
    counts[static_cast<std::size_t>(sample + 3)] += 1;
  }
  CHECK(agree(counts, std::vector<double>(7, kDraws / 7.0)));
  CHECK(sample_uniform_int({1, Stream::kTest, 0}, 0, 5, 5) == 5);
}

TEST_CASE("uniform integers over most of the range favour no remainder") {
  // Scaling 64 bits to 3 * 2^62 values without rejection would draw every third value twice as often.
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  const std::int64_t high = kLow / 2 - 1 + (std::int64_t{1} << 62) + (std::int64_t{1} << 62);
  std::vector<double> counts(3);
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const std::int64_t sample = sample_uniform_int({29, Stream::kTest, 0}, i, kLow, high);
    REQUIRE(sample <= high);
    counts[(static_cast<std::uint64_t>(sample) - static_cast<std::uint64_t>(kLow)) % 3] += 1;
  }
  CHECK(agree(counts, std::vector<double>(3, kDraws / 3.0)));
}

TEST_CASE("weighted choices and Zipf ranks come in proportion to their weights") {
  const std::vector<double> weights = zipf_weights(50, 1.1);
  CHECK(weights[0] == 1);
  CHECK(weights[1] == Approx(std::pow(2.0, -1.1)));
  const WeightedChoice choice(weights);
  std::vector<double> counts(weights.size());
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (std::uint32_t i = 0; i < kDraws; ++i) counts[choice.sample({31, Stream::kTest, 0}, i)] += 1;
  std::vector<double> expected;
  for (const double weight : weights) expected.push_back(kDraws * weight / sum);
  CHECK(agree(counts, expected));
}

TEST_CASE("an index without weight is never chosen") {
  const WeightedChoice choice({0, 1, 0, 2, 0});
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const std::size_t chosen = choice.sample({37, Stream::kTest, 0}, i);
    REQUIRE((chosen == 1 || chosen == 3));
  }
}

TEST_CASE("a quantile table is linear between its points, rounds half up and knows its mean") {
  const QuantileTable table({{0, 10}, {0.5, 20}, {1, 100}});
  CHECK(table.quantile(0) == 10);
  CHECK(table.quantile(0.25) == 15);
  CHECK(table.quantile(0.275) == 16);  // 15.5
  CHECK(table.quantile(0.5) == 20);
  CHECK(table.quantile(0.75) == 60);
  CHECK(table.quantile(1) == 100);
  CHECK(table.mean() == 37.5);
  double sum = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    sum += static_cast<double>(table.sample({41, Stream::kTest, 0}, i));
  }
  CHECK(sum / kDraws == Approx(37.5).margin(0.5));  // four standard errors of 28.3 / sqrt(50,000)
}

TEST_CASE("parameters outside their ranges are broken invariants") {
  make_checks_throw();
  const StreamKey key{1, Stream::kTest, 0};
  CHECK_THROWS_AS(sample_exponential(key, 0, 0), BrokenInvariant);
  CHECK_THROWS_AS(sample_gamma(key, 0, 0, 1), BrokenInvariant);
  CHECK_THROWS_AS(sample_poisson(key, 0, -1), BrokenInvariant);
  CHECK_THROWS_AS(sample_uniform_int(key, 0, 2, 1), BrokenInvariant);
  CHECK_THROWS_AS(WeightedChoice({0, 0}), BrokenInvariant);
  CHECK_THROWS_AS(QuantileTable({{0, 2}, {1, 1}}), BrokenInvariant);
  CHECK_THROWS_AS(QuantileTable({{0.1, 1}, {1, 2}}), BrokenInvariant);
}

TEST_CASE("the samplers give the recorded bits on every compiler") {
  const StreamKey key{42, Stream::kArrivals, 7};
  CHECK(sample_exponential(key, 0, 2) == 0x1.d557d44080babp+1);
  CHECK(sample_normal(key, 0, 0, 1) == -0x1.fd6da9721f8a2p-1);
  CHECK(sample_lognormal(key, 0, 5, 0.8) == 0x1.0bd1be52b7224p+6);
  CHECK(sample_gamma(key, 0, 0.5, 2) == 0x1.31ee1909b161fp-3);
  CHECK(sample_gamma(key, 0, 3, 2) == 0x1.597ab1b56d182p+1);
  CHECK(sample_weibull(key, 0, 0.7, 1) == 0x1.30493ae53eba9p+1);
  CHECK(sample_poisson(key, 0, 3) == 2);
  CHECK(sample_poisson(key, 0, 100) == 87);
  CHECK(sample_uniform_int(key, 0, 1, 1'000'000) == 159'874);
  Digest digest;
  const auto add = [&](double value) { digest.add(std::bit_cast<std::uint64_t>(value)); };
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const StreamKey entity{1, Stream::kTest, i};
    add(sample_exponential(entity, 0, 2));
    add(sample_normal(entity, 1, 0, 1));
    add(sample_lognormal(entity, 2, 5, 0.8));
    add(sample_gamma(entity, 3, 0.5, 2));
    add(sample_gamma(entity, 4, 3, 2));
    add(sample_weibull(entity, 5, 0.7, 1));
    digest.add_signed(sample_poisson(entity, 6, 3));
    digest.add_signed(sample_poisson(entity, 7, 100));
    digest.add_signed(sample_uniform_int(entity, 8, -5, 1000));
  }
  CHECK(to_hex(digest) == "31b8379992739eae");
}

}  // namespace
}  // namespace servetwin::samplers_test
