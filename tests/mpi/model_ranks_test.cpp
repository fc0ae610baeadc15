// If these fail, a model split over processes says something else than one split over threads.
#include <memory>
#include <utility>

#include "tests/live/live_model_rig.h"
#include "tests/mpi/mpi_world.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::test::model_ranks_test {
namespace {

constexpr SplitLayout kLayouts[] = {{false, false}, {true, false}, {true, true}};

// One sequence in blocks 1, 2, … of eight tokens.
StepBatch batch_of(std::int64_t first, std::int64_t tokens) {
  StepBatch batch;
  batch.rows = {{RequestId{1}, Tokens{tokens}, Tokens{first}, true}};
  batch.cu_seqlens = {0, static_cast<std::int32_t>(tokens)};
  batch.seq_lens = {static_cast<std::int32_t>(first + tokens)};
  for (std::int32_t block = 1; block <= 8; ++block) batch.groups.front().block_tables.push_back(block);
  batch.table_starts = {0};
  for (std::int64_t position = first; position < first + tokens; ++position)
    batch.groups.front().slots.push_back(8 + position);
  return batch;
}

RunnerOptions sizes(const SplitLayout& layout) {
  RunnerOptions options;
  options.block_size = Tokens{8};
  options.num_blocks = Blocks{9};
  options.max_model_len = Tokens{64};
  options.layout = layout;
  return options;
}

TEST_CASE("ranks that are processes have the logits and the counts of ranks that are threads, bit for bit") {
  for (const ModelOracle* model : family_oracles()) {
    for (const SplitLayout& layout : kLayouts) {
      std::unique_ptr<Communicator> group = mpi_group();
      const int ranks = group->size();
      if (!why_not_split(model->spec, ranks, layout).empty()) continue;
      CAPTURE(model->name, ranks, layout.sequence_parallel, layout.expert_parallel);
      const RankPlace place{group->rank(), ranks};
      const ModelWeights part = rank_weights(model->spec, model->weights, place, layout);
      RankModel process(model->spec, part, sizes(layout), place, std::move(group));
      const SplitWeights weights(model->spec, model->weights, ranks, layout);
      RankTeam threads(model->spec, weights.parts(), sizes(layout));
      std::int64_t first = 0;
      for (const std::int64_t tokens : {17, 1, 1, 6}) {
        const StepBatch batch = batch_of(first, tokens);
        const std::vector<TokenId> ids(model->tokens.begin() + first, model->tokens.begin() + first + tokens);
        const float* logits = process.forward(batch, ids);
        const std::vector<float> of_process(logits, logits + model->spec.vocab);
        std::vector<float> of_threads;
        threads.run("step", [&](RankModel& rank) {
          const float* result = rank.forward(batch, ids);
          if (rank.rank() == 0) of_threads.assign(result, result + model->spec.vocab);
        });
        CHECK(of_process == of_threads);
        first += tokens;
      }
      CHECK(process.sent() == threads.at(place.rank).sent());
    }
  }
}

}  // namespace
}  // namespace servetwin::test::model_ranks_test
