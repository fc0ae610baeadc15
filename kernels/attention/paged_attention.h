// Attention over a paged KV cache for ragged batches: prefill, chunks and decode are one operation. Cost:
// attention_cost.h.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"
#include "kernels/attention/kv_elements.h"
#include "kernels/thread_team.h"
#include "kernels/vectors/kernels.h"

namespace servetwin {

// One layer of the cache: keys and values as [blocks][block_size][kv_heads][head_dim] elements of `dtype`.
struct PagedCache {
  void* keys = nullptr;
  void* values = nullptr;  // may be the keys: then a value is the beginning of its key
  std::int64_t block_size = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  DType dtype = DType::kF32;    // one of kv_dtypes
  float* key_scales = nullptr;  // of 8-bit elements: [blocks][block_size][kv_heads]
  float* value_scales = nullptr;
};

struct AttentionOptions {
  std::int64_t heads = 0;      // of the queries: a multiple of kv_heads (equal: MHA, 1: MQA)
  float scale = 0;             // of the scores; 0: 1 / sqrt(head_dim)
  float soft_cap = 0;          // scores become cap · tanh(score / cap) after scaling; 0: they do not
  std::int64_t window = 0;     // keys that a query sees, its own the last; 0: all before it
  std::int64_t value_dim = 0;  // first elements of a value that count; 0: head_dim
};

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
