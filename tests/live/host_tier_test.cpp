// If these fail, what was swapped out comes back wrong, or the host tier fills up with what nobody needs.
#include "engine/live/host_tier.h"

#include "engine/live/model_runner.h"
#include "tests/live/live_bench.h"
#include "tests/support/catch.h"

namespace servetwin::host_tier_test {
namespace {

constexpr RequestId kRequest{3};

// One row: `tokens` from `context` on, in block 1.
StepBatch batch_of(std::int64_t context, std::int64_t tokens) {
  StepBatch batch;
  batch.rows = {{kRequest, Tokens{tokens}, Tokens{context}, true}};
  batch.cu_seqlens = {0, static_cast<std::int32_t>(tokens)};
  batch.seq_lens = {static_cast<std::int32_t>(context + tokens)};
  batch.block_tables = {1};
  batch.table_starts = {0};
  for (std::int64_t position = context; position < context + tokens; ++position) {
    batch.slots.push_back(16 + position);
  }
  return batch;
}

TEST_CASE("the host tier keeps what the blocks held, and its room comes back") {
  KvPool pool(bench_spec(), Blocks{4}, Tokens{16});
  const std::vector<std::byte> one(pool.block_bytes(), std::byte{1});
  const std::vector<std::byte> two(pool.block_bytes(), std::byte{2});
  pool.write_block(1, one.data());
  pool.write_block(3, two.data());
  HostTier host(Blocks{3});
  host.put({kRequest, 0, {1, 3}}, pool);
  CHECK(host.free() == Blocks{1});
  pool.write_block(1, two.data());
  pool.write_block(3, one.data());
  host.take({kRequest, 1, {2}}, pool);  // its first block is a hit
  std::vector<std::byte> back(pool.block_bytes());
  pool.read_block(2, back.data());
  CHECK(back == two);
  CHECK(host.free() == Blocks{3});
  host.put({kRequest, 0, {1}}, pool);
  host.drop(kRequest);
  host.drop(kRequest);
  CHECK(host.free() == Blocks{3});
}

TEST_CASE("who comes back without its copy, the cache having all of it, leaves none behind") {
  ContentText text(3, bench_spec().vocab);
  const ModelWeights weights = random_weights(bench_spec(), 3);
  const RunnerOptions options{Tokens{16}, Blocks{4}, Tokens{64}, 1, DType::kF32, Blocks{1}};
  ModelRunner runner(bench_spec(), weights, options, text, {});
  SequenceStart start;
  start.request = kRequest;
  start.prompt = {1, 2, 3, 4};
  start.sampling.ignore_eos = true;
  runner.start(start);
  CHECK(runner.run(batch_of(0, 4)).empty());
  for (std::int64_t context = 4; context < 8; ++context) {
    StepBatch again = batch_of(context, 1);
    again.swap_outs = {{kRequest, 0, {1}}};
    again.resumed = {kRequest};
    CHECK(runner.run(again).empty());  // the second time there would be no room
  }
  CHECK(runner.tokens(kRequest).size() == 9);
}

}  // namespace
}  // namespace servetwin::host_tier_test
