// What the parts of a layer share during one step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/live/step_batch.h"
#include "engine/models/weights.h"
#include "kernels/attention/paged_attention.h"
#include "kernels/gemm/matmul.h"
#include "kernels/thread_team.h"

namespace servetwin {

struct StepContext {
  const StepBatch& batch;
  const std::vector<std::int32_t>& positions;  // of each token in its sequence
  ThreadTeam& team;
  std::size_t group = 0;  // KV group of the layer that is computed

  const GroupBlocks& blocks() const { return batch.groups[group]; }
  std::int64_t tokens() const { return batch.num_tokens(); }
};

inline RaggedRows ragged_rows(const StepContext& step) {
  const StepBatch& batch = step.batch;
  return {batch.num_rows(), batch.cu_seqlens.data(), batch.seq_lens.data(), step.blocks().block_tables.data(),
          batch.table_starts.data()};
}

inline std::size_t elements(std::int64_t rows, std::int64_t width) {
  return static_cast<std::size_t>(rows * width);
}

// `output` gets the room that the product needs. An empty bias is none.
inline Product product(const StoredMatrix& weight,
                       const Weights& bias,
                       std::int64_t rows,
                       std::vector<float>& output) {
  output.resize(elements(rows, weight.rows));
  return {weight.view(), bias.empty() ? nullptr : bias.data(), output.data()};
}
inline Product product(const StoredMatrix& weight, std::int64_t rows, std::vector<float>& output) {
  return product(weight, {}, rows, output);
}

}  // namespace servetwin
