// If this fails, a block that was copied holds other keys and values, or is taken for somebody else's text.
#include "engine/live/model_runner.h"
#include "tests/live/live_bench.h"
#include "tests/support/catch.h"

namespace servetwin::copied_blocks_test {
namespace {

// One row in one block: `tokens` from `context` on.
StepBatch batch_in(std::int32_t block, RequestId request, std::int64_t context, std::int64_t tokens) {
  StepBatch batch;
  batch.rows = {{request, Tokens{tokens}, Tokens{context}, true}};
  batch.cu_seqlens = {0, static_cast<std::int32_t>(tokens)};
  batch.seq_lens = {static_cast<std::int32_t>(context + tokens)};
  batch.block_tables = {block};
  batch.table_starts = {0};
  for (std::int64_t position = context; position < context + tokens; ++position)
    batch.slots.push_back(block * 16 + position);
  return batch;
}

TEST_CASE("a sequence goes on in a copy of another's block as if it had computed it") {
  ContentText text(3, bench_spec().vocab);
  const ModelWeights weights = random_weights(bench_spec(), 3);
  const RunnerOptions options{Tokens{16}, Blocks{4}, Tokens{64}, 1, DType::kF32, Blocks{1}};
  ModelRunner runner(bench_spec(), weights, options, text, {});
  for (const RequestId request : {RequestId{1}, RequestId{2}}) {
    SequenceStart start;
    start.request = request;
    start.prompt = {5, 9, 2, 7, 1, 8};
    start.sampling.ignore_eos = true;
    runner.start(start);
  }
  runner.run(batch_in(1, RequestId{1}, 0, 6));
  runner.copy_block(1, 2);
  runner.run(batch_in(2, RequestId{2}, 5, 1));
  CHECK(runner.tokens(RequestId{2}).size() == 7);
  CHECK(runner.tokens(RequestId{2}) == runner.tokens(RequestId{1}));
}

}  // namespace
}  // namespace servetwin::copied_blocks_test
