// If this fails, a window's tables pass blocks at the wrong token, or take a cached prefix that they cannot
// go on from.
#include "engine/serving/kv_windows.h"

#include <algorithm>
#include <string>

#include "tests/support/catch.h"

namespace servetwin::kv_windows_test {
namespace {

EngineConfig engine_of(std::vector<KvRetention> groups) {
  EngineConfig engine;
  engine.num_blocks = Blocks{100};
  engine.block_size = Tokens{2};
  engine.kv_groups = std::move(groups);
  return engine;
}

const ContentRun kRun{{7, 9}, 0, kOpenEnd};

// The hit where each table has those blocks cached that `cached` marks with a T.
std::int32_t hit_of(const EngineConfig& engine, const std::string& cached) {
  KvGroup kv(engine.num_blocks);
  KvWindows windows(engine);
  const auto blocks = static_cast<std::int32_t>(cached.size());
  const OwnerSlot owner = windows.open(kv, RequestId{1}, 0, 0);
  kv.take(blocks * windows.tables());
  windows.extend(kv, owner, blocks);
  for (std::int32_t i = 0; i < blocks; ++i) {
    if (cached[static_cast<std::size_t>(i)] == 'T') windows.publish(kv, owner, kRun, i, i + 1);
  }
  windows.release(kv, owner);
  const std::int32_t hit = windows.look_up(kv, {kRun}, blocks);
  // It can be taken, and what is then held is what the tables see.
  kv.check_all();
  const OwnerSlot next = windows.open(kv, RequestId{2}, 0, hit);
  CHECK(windows.held(kv, next) == kv.used().value);
  windows.release(kv, next);
  CHECK(kv.used() == Blocks{0});
  kv.check_all();
  return hit;
}

}  // namespace

TEST_CASE("a window of 4 tokens needs the two blocks of 2 before the end of a hit, or all from the start") {
  const EngineConfig engine = engine_of({{Tokens{4}, Tokens{0}}});
  CHECK(hit_of(engine, "TT") == 2);
  CHECK(hit_of(engine, "TTF") == 2);
  CHECK(hit_of(engine, "TTT") == 3);
  CHECK(hit_of(engine, "T") == 1);
  CHECK(hit_of(engine, "F") == 0);
  CHECK(hit_of(engine, "FTF") == 0);
  CHECK(hit_of(engine, "TTFTFFTTFTTT") == 12);
  CHECK(hit_of(engine, "TTFTFFTTFFF") == 8);
  CHECK(hit_of(engine, "TTFTFFTTFFFT") == 8);
}

TEST_CASE("beside a whole table a window has no more than that one finds; sinks must be there too") {
  const KvRetention window{Tokens{4}, Tokens{0}};
  CHECK(hit_of(engine_of({{}, window}), "TTTFTTT") == 3);
  CHECK(hit_of(engine_of({window, {}, window}), "FTTT") == 0);
  const EngineConfig sinks = engine_of({{Tokens{4}, Tokens{3}}});
  CHECK(hit_of(sinks, "TTFTT") == 5);
  CHECK(hit_of(sinks, "TFFTT") == 1);
  CHECK(hit_of(sinks, "FTFTT") == 0);
}

TEST_CASE("a window of 4 tokens passes blocks of 2 as vLLM V1 does, and sinks stay") {
  for (const std::int64_t sink : {0, 1}) {
    KvGroup kv(Blocks{50});
    KvWindows windows(engine_of({{Tokens{4}, Tokens{sink}}}));
    const OwnerSlot owner = windows.open(kv, RequestId{1}, 0, 0);
    kv.take(7);
    windows.extend(kv, owner, 7);
    std::int64_t passed = 0;
    const std::int64_t computed[] = {4, 5, 6, 7, 11};
    const std::int64_t nulls[] = {0, 1, 1, 2, 4};
    for (std::size_t i = 0; i < 5; ++i) {
      passed += windows.pass(kv, owner, computed[i]);
      CHECK(passed == std::max<std::int64_t>(0, nulls[i] - sink));
      CHECK(windows.held(kv, owner) == 7 - passed);
      CHECK(kv.used() == Blocks{7 - passed});
    }
    windows.release(kv, owner);
    CHECK(kv.used() == Blocks{0});
    kv.check_all();
  }
}

TEST_CASE("a sequence that is served at once takes no more than its tables hold at once") {
  EngineConfig engine = engine_of({{Tokens{8}, Tokens{0}}, {}});
  engine.max_num_batched_tokens = Tokens{4};
  const std::int64_t entries = 40;
  const Blocks most = KvWindows::most(engine, Blocks{entries});
  CHECK(most == Blocks{entries + 7});  // ⌈(7 + 4) / 2⌉ + 1 beside the whole table
  KvGroup kv(most + Blocks{1});
  KvWindows windows(engine);
  windows.serve(kv, RequestId{1}, 0, {kRun}, static_cast<std::int32_t>(entries));
  CHECK(kv.used() == Blocks{0});
  kv.check_all();
}

}  // namespace servetwin::kv_windows_test
