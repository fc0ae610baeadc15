// If this fails, TPOT or the verdict on a request's gaps is wrong.
#include "engine/metrics/slo.h"

#include "engine/metrics/statistics.h"
#include "tests/support/catch.h"

namespace servetwin::slo_test {
namespace {

Time at_ms(std::int64_t ms) { return time_at_ns(ms * 1'000'000); }

// A stream as a client saw it: when each chunk came and how many tokens it held.
struct Chunk {
  std::int64_t ms;
  std::int64_t tokens;
};

struct Stream {
  std::int64_t ttft_ms = 0;
  std::int64_t e2e_ms = 0;
  std::optional<Duration> tpot;
  Samples gaps;
};

// Chunks without tokens (the role, the usage) are no tokens.
Stream measure(const std::vector<Chunk>& chunks) {
  Stream stream;
  Tokens tokens{};
  std::int64_t first = -1;
  std::int64_t last = -1;
  for (const Chunk& chunk : chunks) {
    if (chunk.tokens == 0) continue;
    if (first < 0) first = chunk.ms;
    if (last >= 0) stream.gaps.add((chunk.ms - last) * 1'000'000);
    last = chunk.ms;
    tokens += Tokens{chunk.tokens};
  }
  stream.ttft_ms = first;
  stream.e2e_ms = last;
  stream.tpot = tpot_of(at_ms(first), at_ms(last), tokens);
  return stream;
}

TEST_CASE("a streamed answer of eight tokens in four chunks has TPOT 160/7 ms and three gaps") {
  const Stream s = measure({{20, 0}, {100, 1}, {150, 3}, {200, 2}, {260, 2}, {262, 0}});
  CHECK(s.ttft_ms == 100);
  CHECK(s.e2e_ms == 260);
  REQUIRE(s.tpot);
  CHECK(to_ns(*s.tpot) == 22'857'143);
  const Distribution gaps = s.gaps.distribution();
  CHECK(gaps.count == 3);
  CHECK(gaps.min == 50e6);
  CHECK(gaps.median() == 50e6);
  CHECK(gaps.max == 60e6);
}

TEST_CASE("TPOT divides by the tokens that came, not by those asked for or found in the text") {
  CHECK(tpot_of(at_ms(50), at_ms(110), Tokens{7}) == Duration{10'000'000});
}

TEST_CASE("one token has no TPOT, and none has none") {
  CHECK(!tpot_of(at_ms(80), at_ms(80), Tokens{1}));
  CHECK(!tpot_of(kTimeNever, kTimeNever, Tokens{0}));
}

TEST_CASE("reasoning tokens count from the first of them") {
  const Stream s = measure({{70, 1}, {90, 1}, {310, 1}});
  CHECK(s.ttft_ms == 70);
  CHECK(s.tpot == Duration{120'000'000});
}

TEST_CASE("one gap in a hundred may exceed the limit, two may not, nor one in ninety-nine") {
  CHECK(meets_itl(100, 1));
  CHECK(!meets_itl(100, 2));
  CHECK(!meets_itl(99, 1));
  CHECK(meets_itl(99, 0));
  CHECK(meets_itl(0, 0));
}

TEST_CASE("a stat group tells class and window apart") {
  CHECK(stat_group_for(ClassId{3}, true) == 3);
  CHECK(stat_group_for(ClassId{3}, false) == 19);
  CHECK(is_measured(15));
  CHECK(!is_measured(16));
}

}  // namespace
}  // namespace servetwin::slo_test
