// FLOPs and bytes of attention over a KV cache, one layer, as sums over rows: linear, never on a mean.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

struct AttentionShape {
  double heads = 0;  // of this rank
  double kv_heads = 0;
  double head_dim = 0;
  double kv_bytes = 0;          // an element of the cache
  double activation_bytes = 0;  // an element of query and output
  double scale_bytes = 0;       // of one key or value of one head, where each has a scale: 4
};

constexpr double kv_bytes_per_key(const AttentionShape& shape) {
  return 2.0 * shape.kv_heads * (shape.head_dim * shape.kv_bytes + shape.scale_bytes);
}

// One query token a row. `keys` is the sum over rows of the keys read; QK and PV take 2 · head_dim FLOPs
// each.
constexpr Work attention_decode_work(const AttentionShape& shape, double rows, double keys) {
  return {
      4.0 * shape.heads * shape.head_dim * keys,
      kv_bytes_per_key(shape) * keys + 2.0 * rows * shape.heads * shape.head_dim * shape.activation_bytes};
}

struct PrefillSums {
  double tokens = 0;     // Σ q
  double q_context = 0;  // Σ q · tokens computed before
  double q_squared = 0;  // Σ q²
  double keys = 0;       // Σ keys read from the cache, the chunk's own left out
};

// Of so many pairs of queries and keys, and so many keys read from the cache.
constexpr Work attention_pairs_work(const AttentionShape& shape, double tokens, double pairs, double keys) {
  return {4.0 * shape.heads * shape.head_dim * pairs,
          kv_bytes_per_key(shape) * (keys + tokens) +
              2.0 * tokens * shape.heads * shape.head_dim * shape.activation_bytes};
}

// Causal: query i of a chunk sees the context and i + 1 keys of the chunk, so q · context + q (q + 1) / 2
// pairs.
constexpr Work attention_prefill_work(const AttentionShape& shape, const PrefillSums& sums) {
  const double pairs = sums.q_context + 0.5 * (sums.q_squared + sums.tokens);
  return attention_pairs_work(shape, sums.tokens, pairs, sums.keys);
}

}  // namespace servetwin
