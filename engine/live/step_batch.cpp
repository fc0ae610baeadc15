// Tables as the core has them, with physical ids.
#include "engine/live/step_batch.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/serving/kv_table.h"

namespace servetwin {
namespace {

// Block ids of the first `end` entries of the request's table in that group.
void append_table(const ReplicaCore& replica,
                  const RequestState& state,
                  std::size_t group,
                  std::int64_t end,
                  const BlockTables& blocks,
                  std::vector<std::int32_t>& table) {
  CHECK_INVARIANT(end <= state.held, raw(state.spec.id), end);
  const OwnerSlot owner = replica.windows.owner_of(state.owner, group);
  for_entries(replica.kv(), owner, static_cast<std::int32_t>(end), [&](OwnerSlot of, std::int32_t index) {
    table.push_back(of == kNoOwner ? 0 : blocks.id(of, index));
  });
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
  batch.groups.resize(static_cast<std::size_t>(replica.windows.tables()));
  batch.cu_seqlens.push_back(0);
  for (const StepRow& row : plan.rows) {
    const std::int64_t end = (row.context + row.tokens).value;
    const std::size_t start = batch.groups.front().block_tables.size();
    const RequestState& state = replica.table[replica.table.find(row.request)];
    batch.table_starts.push_back(static_cast<std::int64_t>(start));
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<std::int32_t>(row.tokens.value));
    batch.seq_lens.push_back(static_cast<std::int32_t>(end));
    for (std::size_t g = 0; g < batch.groups.size(); ++g) {
      GroupBlocks& group = batch.groups[g];
      append_table(replica, state, g, ceil_div(end, size), blocks, group.block_tables);
      for (std::int64_t position = row.context.value; position < end; ++position) {
        const std::int64_t block = group.block_tables[start + static_cast<std::size_t>(position / size)];
        CHECK_INVARIANT(block > 0, raw(row.request), position);
        group.slots.push_back(block * size + position % size);
      }
    }
  }
  return batch;
}

StepBatch recomputed(StepBatch batch, std::int64_t block_size) {
  CHECK_INVARIANT(batch.groups.size() == 1);  // what lies before a window cannot be written again
  GroupBlocks& group = batch.groups.front();
  group.slots.clear();
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    const std::int32_t end = batch.seq_lens[row];
    batch.rows[row].context = Tokens{0};
    batch.rows[row].tokens = Tokens{end};
    batch.cu_seqlens[row + 1] = batch.cu_seqlens[row] + end;
    for (std::int32_t position = 0; position < end; ++position) {
      const auto entry = static_cast<std::size_t>(batch.table_starts[row] + position / block_size);
      group.slots.push_back(group.block_tables[entry] * block_size + position % block_size);
    }
  }
  return batch;
}

}  // namespace servetwin
