// If this fails, peaks per second are wrong or a run that never settled passes for a steady one.
#include "engine/metrics/series.h"

#include <cmath>

#include "tests/support/catch.h"

namespace servetwin::series_test {
namespace {

Time at_ms(std::int64_t ms) { return time_at_ns(ms * 1'000'000); }

TEST_CASE("the busiest second counts tokens and every request whose life touches it") {
  SecondSeries series;
  series.add_tokens(at_ms(999), 5);
  series.add_tokens(at_ms(1000), 3);
  series.add_tokens(at_ms(1999), 4);
  CHECK(series.max_tokens() == 7);
  series.add_life(at_ms(5100), at_ms(5200));
  series.add_life(at_ms(5900), at_ms(7000));
  series.add_life(at_ms(6999), at_ms(9000));
  series.add_life(at_ms(100), at_ms(5050));
  CHECK(series.max_alive() == 3);
}

TEST_CASE("intervals merge as time outgrows them, whatever the order of the calls") {
  TrendSeries forward;
  TrendSeries backward;
  for (std::int64_t i = 0; i < 1000; ++i) {
    forward.add_arrival(at_ms(i * 37));
    forward.add_ttft(at_ms(i * 37), Duration{i});
    backward.add_arrival(at_ms((999 - i) * 37));
    backward.add_ttft(at_ms((999 - i) * 37), Duration{999 - i});
  }
  REQUIRE(forward.width() == backward.width());
  CHECK(forward.width() > Duration{1'000'000});
  REQUIRE(forward.intervals().size() == backward.intervals().size());
  std::int64_t arrivals = 0;
  for (std::size_t i = 0; i < forward.intervals().size(); ++i) {
    arrivals += forward.intervals()[i].arrivals;
    CHECK(forward.intervals()[i].arrivals == backward.intervals()[i].arrivals);
    CHECK(forward.intervals()[i].ttft_sum == backward.intervals()[i].ttft_sum);
  }
  CHECK(arrivals == 1000);
}

TEST_CASE("the slope of a line is found with its standard error") {
  // By hand: slope 0.6, residual sum of squares 8.2 over 2 degrees of freedom, Sxx 5.
  const Trend trend = fit_trend({0, 1, 2, 3}, {1, 3, 0, 4});
  CHECK(trend.slope == Approx(0.6));
  CHECK(trend.t == Approx(0.6 / std::sqrt(8.2 / 2 / 5)));
}

// One arrival every 10 ms for 20 s; the i-th stays and waits as told.
template <class Wait>
SteadyState judge(Wait wait_ms) {
  TrendSeries series;
  for (std::int64_t i = 0; i < 2000; ++i) {
    series.add_arrival(at_ms(i * 10));
    series.add_end(at_ms(i * 10 + wait_ms(i)));
    series.add_ttft(at_ms(i * 10), Duration{wait_ms(i) * 1'000'000});
  }
  return judge_steady_state(series, at_ms(0), at_ms(20'000));
}

TEST_CASE("an overloaded run is seen as never steady") {
  const SteadyState state = judge([](std::int64_t i) { return 50 + i; });
  CHECK(state.judged);
  CHECK(state.still_rising);
}

TEST_CASE("a run that only wobbles is steady") {
  const SteadyState state = judge([](std::int64_t i) { return 50 + i * 7919 % 40; });
  CHECK(state.judged);
  CHECK(!state.still_rising);
}

TEST_CASE("a run too short for twenty parts is not judged") {
  TrendSeries series;
  series.add_arrival(at_ms(0));
  series.add_ttft(at_ms(0), Duration{5});
  CHECK(!judge_steady_state(series, at_ms(0), at_ms(100)).judged);
}

}  // namespace
}  // namespace servetwin::series_test
