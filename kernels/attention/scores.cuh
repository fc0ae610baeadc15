// What both attention kernels share: where a key lies, and how a product becomes a score.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/attention/paged_attention_cuda.h"
#include "kernels/cuda/cached.cuh"

namespace servetwin {

// Nothing was seen yet.
inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

struct AttentionArguments {
  PagedCache cache;
  PagedRows rows;
  AttentionOptions options;  // all of them filled in
};

inline AttentionArguments attention_arguments(const PagedCache& cache,
                                              const PagedRows& rows,
                                              AttentionOptions options) {
  CHECK_INVARIANT(options.heads % cache.kv_heads == 0, options.heads, cache.kv_heads);
  if (options.scale <= 0) options.scale = 1.0F / std::sqrt(static_cast<float>(cache.head_dim));
  if (options.window <= 0) options.window = std::numeric_limits<std::int32_t>::max();
  if (options.value_dim <= 0) options.value_dim = cache.head_dim;
  return {cache, rows, options};
}

// Index of the vector of a key of `row`: its slot's, of one head.
__device__ inline std::int64_t cached_vector(const AttentionArguments& all,
                                             std::int64_t row,
                                             std::int64_t key,
                                             std::int64_t kv_head) {
  const std::int64_t size = all.cache.block_size;
  const std::int64_t block = all.rows.block_table[row * all.rows.max_blocks + key / size];
  return (block * size + key % size) * all.cache.kv_heads + kv_head;
}

// The first key that the query at `position` sees.
__device__ inline std::int64_t first_key(const AttentionArguments& all, std::int64_t position) {
  return position < all.options.window ? 0 : position - all.options.window + 1;
}

__device__ inline float capped(const AttentionOptions& options, float score) {
  return options.soft_cap > 0.0F ? options.soft_cap * tanhf(score / options.soft_cap) : score;
}

// The factor that brings sums below an old maximum to the new one.
__device__ inline float rescale(float old_maximum, float maximum) {
  return old_maximum == kNoScore ? 0.0F : expf(old_maximum - maximum);
}

}  // namespace servetwin
