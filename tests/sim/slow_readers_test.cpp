// If one of these fails, a client that reads slowly is waited for at the wrong time, holds up others, or
// never gets the rest of its answer.
#include "sim/backend/slow_readers.h"

#include <vector>

#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"

namespace servetwin::slow_readers_test {
namespace {

using namespace test;

constexpr Duration kMs{1'000'000};

Time at_ms(std::int64_t ms) { return Time{kMs * ms}; }

TEST_CASE("a slow reader's window fills by tokens, empties at its rate, and opens again half empty") {
  SlowReaders readers;
  // A token takes 10 ms to read, the window holds 40 ms of reading.
  readers.add(RequestId{7}, BytesPerSecond{1000}, Bytes{10}, Bytes{40});
  CHECK_FALSE(readers.on_token(RequestId{8}, at_ms(0)).has_value());  // reads at once
  // Every 2 ms a token, so 8 ms more to read with each: 10, 18, 26, 34, then 42.
  for (int i = 0; i < 4; ++i) CHECK_FALSE(readers.on_token(RequestId{7}, at_ms(2 * i)).has_value());
  CHECK(readers.on_token(RequestId{7}, at_ms(8)) == at_ms(8 + 42 - 20));
  // One that was on its way does not move the time; after it the next fill is counted anew.
  CHECK_FALSE(readers.on_token(RequestId{7}, at_ms(10)).has_value());  // 50 unread
  CHECK_FALSE(readers.on_token(RequestId{7}, at_ms(30)).has_value());  // 40 unread, and closed until now
  CHECK(readers.on_token(RequestId{7}, at_ms(31)) == at_ms(31 + 49 - 20));
  // What was read does not count below zero.
  CHECK_FALSE(readers.on_token(RequestId{7}, at_ms(1000)).has_value());
  for (int i = 0; i < 3; ++i) CHECK_FALSE(readers.on_token(RequestId{7}, at_ms(1000)).has_value());
  CHECK(readers.on_token(RequestId{7}, at_ms(1000)) == at_ms(1000 + 50 - 20));
  readers.remove(RequestId{7});
  CHECK(readers.empty());
}

// Two requests of equal lengths at time 0, of which the first may read slowly.
std::vector<RequestRecord> two_readers(double rate, bool pause) {
  WorkloadItem slow;
  slow.spec.id = RequestId{0};
  slow.spec.prompt = Tokens{16};
  slow.spec.max_tokens = slow.truth.output = Tokens{60};
  WorkloadItem other = slow;
  other.spec.id = RequestId{1};
  slow.truth.reader_bytes_per_s = rate;
  slow.truth.reader_window = Bytes{1000};
  ListSource source({slow, other});
  TestCost cost;
  SimOptions options;
  options.shortcut = false;
  options.front_end.slow_readers_pause = pause;
  options.front_end.bytes_per_token = Bytes{100};
  EngineConfig engine;
  engine.num_blocks = Blocks{100};
  engine.max_model_len = Tokens{4096};
  engine.plain_loop = true;
  Collect collect;
  const RuleNames names;
  Cluster cluster({{engine}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&collect});
  SimBackend backend(source, {&cost}, options);
  backend.attach(cluster);
  serve(cluster, backend);
  CHECK(cluster.unfinished() == 0);
  CHECK(cluster.at(ReplicaId{0}).kv().used() == Blocks{0});
  std::vector<RequestRecord> records(2);
  for (const RequestRecord& record : collect.records) records[raw(record.id)] = record;
  return records;
}

TEST_CASE("a paused reader gets all its tokens at its own rate, and nobody else waits for it") {
  const auto merged = two_readers(2000, false);
  const auto paused = two_readers(2000, true);
  CHECK(merged[0].end == merged[1].end);
  CHECK(paused[0].outputs == Tokens{60});
  CHECK(paused[0].end_state == EndState::kLength);
  // 60 tokens take 3 s to read; all but the window, and one token more, must have been read when the last
  // goes out.
  const Duration written = paused[0].last_token - paused[0].first_token;
  CHECK(written > kMs * 2400);
  CHECK(written <= kMs * 3000);
  CHECK(merged[0].last_token - merged[0].first_token < kMs * 600);
  // The other is alone most of the time, so it is no later than before.
  CHECK(paused[1].end <= merged[1].end);
}

TEST_CASE("a reader faster than the model never pauses") {
  const auto merged = two_readers(1e6, false);
  const auto paused = two_readers(1e6, true);
  CHECK(paused[0].end == merged[0].end);
  CHECK(paused[1].end == merged[1].end);
}

}  // namespace
}  // namespace servetwin::slow_readers_test
