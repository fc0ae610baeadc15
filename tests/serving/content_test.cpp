// If one of these fails, requests share KV of different tokens, or do not share KV of equal ones.
#include "engine/serving/content.h"

#include <rapidcheck.h>

#include "tests/support/catch.h"
#include "tests/support/naive_kv.h"

namespace servetwin::content_test {
namespace {

constexpr std::int64_t kBlocks = 12;  // of each request that are compared

RequestSpec any_spec(std::uint32_t id) {
  RequestSpec spec;
  spec.id = RequestId{id};
  spec.content.resize(static_cast<std::size_t>(*rc::gen::inRange(0, 5)));
  for (ContentSegment& segment : spec.content) {
    segment.stream = static_cast<std::uint64_t>(*rc::gen::inRange(0, 2));
    segment.length = Tokens{*rc::gen::inRange(1, 14)};
    spec.prompt += segment.length;
  }
  spec.continues_content = *rc::gen::arbitrary<bool>();
  spec.adapter = AdapterId{*rc::gen::element<std::uint16_t>(0, 0, 0, 1)};
  spec.cache_salt = *rc::gen::element<std::uint64_t>(0, 0, 0, 5);
  return spec;
}

bool same_text(const RequestSpec& a, const RequestSpec& b, std::int64_t tokens) {
  if (a.adapter != b.adapter || a.cache_salt != b.cache_salt) return false;
  for (std::int64_t i = 0; i < tokens; ++i) {
    if (naive_token(a, i) != naive_token(b, i)) return false;
  }
  return true;
}

std::vector<ContentRun> runs_of(const RequestSpec& spec, std::int64_t size, std::uint64_t seed = 1) {
  std::vector<ContentRun> runs;
  content_runs(spec, Tokens{size}, seed, runs);
  return runs;
}

// The run that a block is in, and which of its blocks it is, is what the cache of extents looks up.
std::pair<RunKey, std::int64_t> place_of(const std::vector<ContentRun>& runs, std::int64_t block) {
  for (const ContentRun& run : runs) {
    if (block < run.end) return {run.key, block - run.first};
  }
  return {};
}

TEST_CASE("blocks have equal keys exactly when all tokens up to their end are equal") {
  const bool held = rc::check([] {
    const std::int64_t size = *rc::gen::inRange(1, 8);
    const RequestSpec a = any_spec(1);
    const RequestSpec b = any_spec(2);
    const auto runs_a = runs_of(a, size);
    const auto runs_b = runs_of(b, size);
    for (std::int64_t block = 0; block < kBlocks; ++block) {
      const bool equal = same_text(a, b, (block + 1) * size);
      RC_ASSERT((block_key(runs_a, block) == block_key(runs_b, block)) == equal);
      RC_ASSERT((place_of(runs_a, block) == place_of(runs_b, block)) == equal);
    }
  });
  CHECK(held);
}

TEST_CASE("runs cover every block, in order, without a gap, and the last is open") {
  const bool held = rc::check([] {
    const auto runs = runs_of(any_spec(1), *rc::gen::inRange(1, 8));
    std::int32_t next = 0;
    for (const ContentRun& run : runs) {
      RC_ASSERT(run.first == next);
      RC_ASSERT(run.end > run.first);
      next = run.end;
    }
    RC_ASSERT(next == kOpenEnd);
  });
  CHECK(held);
}

TEST_CASE("salt, adapter and the cache's seed keep equal text apart from the first block on") {
  RequestSpec plain;
  plain.id = RequestId{1};
  plain.content = {{7, Tokens{64}}};
  RequestSpec salted = plain;
  salted.cache_salt = 3;
  RequestSpec adapted = plain;
  adapted.adapter = AdapterId{1};
  const auto runs = runs_of(plain, 16);
  for (std::int64_t block = 0; block < 4; ++block) {
    CHECK_FALSE(block_key(runs, block) == block_key(runs_of(salted, 16), block));
    CHECK_FALSE(block_key(runs, block) == block_key(runs_of(adapted, 16), block));
    CHECK_FALSE(block_key(runs, block) == block_key(runs_of(plain, 16, 2), block));
  }
}

TEST_CASE("text that continues its stream is found by the next turn's prompt; fresh text never is") {
  RequestSpec turn;
  turn.id = RequestId{1};
  turn.content = {{9, Tokens{20}}};
  turn.continues_content = true;
  RequestSpec next = turn;
  next.id = RequestId{2};
  next.content = {{9, Tokens{64}}};
  RequestSpec fresh = turn;
  fresh.continues_content = false;
  CHECK(block_key(runs_of(turn, 16), 3) == block_key(runs_of(next, 16), 3));
  CHECK(block_key(runs_of(fresh, 16), 0) == block_key(runs_of(next, 16), 0));
  CHECK_FALSE(block_key(runs_of(fresh, 16), 1) == block_key(runs_of(next, 16), 1));
}

}  // namespace
}  // namespace servetwin::content_test
