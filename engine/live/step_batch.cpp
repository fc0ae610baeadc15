// A row's table is its prefix hits followed by its own blocks.
#include "engine/live/step_batch.h"

#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

void append_table(const RequestState& state,
                  const std::vector<KvExtent>& hits,
                  std::int64_t needed,
                  const BlockTables& blocks,
                  std::vector<std::int32_t>& table) {
  const std::size_t begin = table.size();
  const auto full = [&] { return static_cast<std::int64_t>(table.size() - begin) == needed; };
  for (const KvExtent& hit : hits) {
    for (std::int32_t index = hit.first; index < hit.end && !full(); ++index) {
      table.push_back(blocks.id(hit.owner, index));
    }
  }
  for (auto index = static_cast<std::int32_t>(state.own_first); index < state.held && !full(); ++index) {
    table.push_back(blocks.id(state.owner, index));
  }
  CHECK_INVARIANT(full(), raw(state.spec.id), needed, table.size() - begin);
}

// Its own first block is the one after the hit.
BlockCopy swap_in_of(const PlanEntry& entry, const ReplicaCore& replica, const BlockTables& blocks) {
  const RequestState& state = replica.table[replica.table.find(entry.request)];
  BlockCopy copy{entry.request, static_cast<std::int32_t>(state.own_first), {}};
  const Blocks end = blocks_for(entry.context + entry.tokens, replica.config.block_size);
  for (std::int32_t index = copy.first; index < end.value; ++index) {
    copy.ids.push_back(blocks.id(state.owner, index));
  }
  return copy;
}

}  // namespace

std::vector<BlockCopy> swap_outs_of(const StepPlan& plan, const BlockTables& blocks) {
  std::vector<BlockCopy> copies;
  for (const SwapOut& out : plan.swap_outs) {
    BlockCopy copy{out.request, 0, {}};
    for (const KvExtent& extent : out.blocks) {
      for (std::int32_t index = extent.first; index < extent.end; ++index) {
        copy.ids.push_back(blocks.id(extent.owner, index));
      }
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

StepBatch make_step_batch(const StepPlan& plan, const ReplicaCore& replica, const BlockTables& blocks) {
  CHECK_INVARIANT(plan.all_rows, raw(plan.step));
  const std::int64_t size = replica.config.block_size.value;
  StepBatch batch;
  batch.step = plan.step;
  batch.swap_outs = swap_outs_of(plan, blocks);
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action == PlanAction::kSwapIn) batch.swap_ins.push_back(swap_in_of(entry, replica, blocks));
    if (entry.action == PlanAction::kAdmit && entry.resumed) batch.resumed.push_back(entry.request);
  }
  batch.rows = plan.rows;
  batch.cu_seqlens.push_back(0);
  for (const StepRow& row : plan.rows) {
    const std::int64_t end = (row.context + row.tokens).value;
    const std::size_t start = batch.block_tables.size();
    const RequestState& state = replica.table[replica.table.find(row.request)];
    append_table(state, replica.kv().hits(state.owner), ceil_div(end, size), blocks, batch.block_tables);
    batch.table_starts.push_back(static_cast<std::int64_t>(start));
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<std::int32_t>(row.tokens.value));
    batch.seq_lens.push_back(static_cast<std::int32_t>(end));
    for (std::int64_t position = row.context.value; position < end; ++position) {
      const std::int64_t block = batch.block_tables[start + static_cast<std::size_t>(position / size)];
      batch.slots.push_back(block * size + position % size);
    }
  }
  return batch;
}

StepBatch recomputed(StepBatch batch, std::int64_t block_size) {
  batch.slots.clear();
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    const std::int32_t end = batch.seq_lens[row];
    batch.rows[row].context = Tokens{0};
    batch.rows[row].tokens = Tokens{end};
    batch.cu_seqlens[row + 1] = batch.cu_seqlens[row] + end;
    for (std::int32_t position = 0; position < end; ++position) {
      const auto entry = static_cast<std::size_t>(batch.table_starts[row] + position / block_size);
      batch.slots.push_back(batch.block_tables[entry] * block_size + position % block_size);
    }
  }
  return batch;
}

}  // namespace servetwin
