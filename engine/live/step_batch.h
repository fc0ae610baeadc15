// One step as a model runs it: ragged rows, packed tokens, block tables, the slot of every token.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/live/block_tables.h"
#include "engine/serving/plan.h"
#include "engine/serving/replica_core.h"

namespace servetwin {

// Blocks of one sequence, from index `first` on, that go to the host or come back.
struct BlockCopy {
  RequestId request = kNoRequest;
  std::int32_t first = 0;
  std::vector<std::int32_t> ids;  // in the pool
};

// What a step's rows and tokens are in the blocks of one KV group.
struct GroupBlocks {
  std::vector<std::int32_t> block_tables;  // of all rows, one after the other; 0 where a row does without
  std::vector<std::int64_t> slots;         // tokens: block · block_size + offset
};

struct StepBatch {
  StepId step{0};
  std::vector<BlockCopy> swap_outs;        // done first
  std::vector<BlockCopy> swap_ins;         // done next
  std::vector<RequestId> resumed;          // after it they need no copy in the host tier
  std::vector<StepRow> rows;               // in running order
  std::vector<std::int32_t> cu_seqlens;    // rows + 1: where each row's tokens begin
  std::vector<std::int32_t> seq_lens;      // keys of each row after the step
  std::vector<std::int64_t> table_starts;  // rows: where each row's table begins, in every group
  std::vector<GroupBlocks> groups{1};      // by KV group

  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows.size()); }
  std::int64_t num_tokens() const { return cu_seqlens.back(); }
};

// Which blocks the plan's victims leave behind. Before anybody else is admitted.
std::vector<BlockCopy> swap_outs_of(const StepPlan& plan, const BlockTables& blocks);

// What the rows of the replica's plan are in memory at this moment; the plan must hold every row.
StepBatch make_step_batch(const StepPlan& plan, const ReplicaCore& replica, const BlockTables& blocks);

// The same step without what a cache keeps: each row computes its whole sequence.
StepBatch recomputed(StepBatch batch, std::int64_t block_size);

}  // namespace servetwin
