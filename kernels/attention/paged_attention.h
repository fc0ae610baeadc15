// Attention over a paged KV cache for ragged batches: prefill, chunks and decode are one operation. Cost:
// attention_cost.h.
#pragma once

#include <cstdint>

#include "kernels/attention/paged_cache.h"
#include "kernels/thread_team.h"
#include "kernels/vectors/kernels.h"

namespace servetwin {

// The rows of a batch: row r has query tokens [cu_seqlens[r], cu_seqlens[r + 1]), sees seq_lens[r] keys in
// the blocks that start at block_tables + table_starts[r]. Its last query is at position seq_lens[r] − 1.
struct RaggedRows {
  std::int64_t rows = 0;
  const std::int32_t* cu_seqlens = nullptr;
  const std::int32_t* seq_lens = nullptr;
  const std::int32_t* block_tables = nullptr;
  const std::int64_t* table_starts = nullptr;
};

// Writes each token's key and value, [tokens][kv_heads][head_dim], to its slot (block · block_size + offset),
// rounded to nearest, ties to even; a negative slot is left out.
void store_keys_values(const PagedCache& cache,
                       const float* keys,
                       const float* values,
                       const std::int64_t* slots,
                       std::int64_t tokens);

// queries: [tokens][heads][head_dim], output: [tokens][heads][value_dim]. Causal. Keys are taken in tiles at
// fixed positions, so a query's result depends on its own keys alone.
void paged_attention(const PagedCache& cache,
                     const RaggedRows& rows,
                     const AttentionOptions& options,
                     const float* queries,
                     float* output,
                     ThreadTeam& team);

// With inner loops that the caller chose.
void paged_attention(const VectorKernels& kernels,
                     const PagedCache& cache,
                     const RaggedRows& rows,
                     const AttentionOptions& options,
                     const float* queries,
                     float* output,
                     ThreadTeam& team);

}  // namespace servetwin
