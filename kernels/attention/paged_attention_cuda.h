// Launches of attention over a paged cache on a device; paged_attention.h says what they compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/dtype.h"
#include "kernels/attention/paged_cache.h"
#include "kernels/cuda/stream.h"

namespace servetwin {

// The rows of a batch; all pointers are the device's, and those of queries, keys and values are aligned to 16
// bytes. Row r has the query tokens [cu_seqlens[r],
// cu_seqlens[r + 1]), the last of them at position seq_lens[r] − 1, and its keys lie in the blocks
// block_table[r][0 … max_blocks). A row that sees no key, as padded ones, gets zeros.
struct PagedRows {
  std::int64_t rows = 0;
  const std::int32_t* cu_seqlens = nullptr;   // [rows + 1]; decode does not read it
  const std::int32_t* seq_lens = nullptr;     // [rows]
  const std::int32_t* block_table = nullptr;  // [rows][max_blocks]
  std::int64_t max_blocks = 0;
  std::int64_t max_queries = 1;  // no row has more query tokens
  std::int64_t max_keys = 0;     // nor sees more keys
};

// Where queries are and outputs go: [tokens][heads][head_dim] and [tokens][heads][value_dim] of `dtype`, f32,
// f16 or bf16. The cache has the same or 8 bits.
struct AttentionTokens {
  DType dtype = DType::kF32;
  const void* queries = nullptr;
  void* output = nullptr;
};

// Keys that one block of a decode step sees: a part of the result's rounding, not of the batch's shape.
inline constexpr std::int64_t kSplitKeys = 256;

// Elements of a head: in decode, where a value may be the beginning of its key as in latent attention, and in
// prefill, where values are as long as keys and lie apart.
inline constexpr std::int64_t kMaxDecodeHeadDim = 576;
inline constexpr std::int64_t kMaxPrefillHeadDim = 256;

// Floats of scratch memory that a decode step needs.
std::size_t paged_decode_scratch(const PagedRows& rows,
                                 const AttentionOptions& options,
                                 std::int64_t head_dim);

// One query token a row: row r's is token r. Keys are split at fixed positions; the parts are merged by their
// natural log-sum-exp.
void paged_decode_cuda(const PagedCache& cache,
                       const PagedRows& rows,
                       const AttentionOptions& options,
                       const AttentionTokens& tokens,
                       float* scratch,
                       CudaStream stream = {});

// Any number of query tokens a row; causal. Products of f16 and bf16 run on tensor cores.
void paged_prefill_cuda(const PagedCache& cache,
                        const PagedRows& rows,
                        const AttentionOptions& options,
                        const AttentionTokens& tokens,
                        CudaStream stream = {});

}  // namespace servetwin
