// Online softmax: one pass over the keys, tile by tile, rescaling what was summed when the maximum grows.
#include "kernels/attention/paged_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/lanes.h"

namespace servetwin {
namespace {

constexpr std::int64_t kTile = 64;  // keys; part of the results

// One query head against one sequence. Options have no zeros that stand for something else.
class HeadAttention {
 public:
  HeadAttention(const PagedCache& cache,
                const AttentionOptions& options,
                const std::int32_t* table,
                std::int64_t kv_head)
      : cache_(cache), options_(options), table_(table), kv_head_(kv_head) {}

  // Sees the last of `keys` that the window holds.
  void run(const float* query, std::int64_t keys, float* output) {
    std::fill_n(output, options_.value_dim, 0.0F);
    maximum_ = -std::numeric_limits<float>::infinity();
    total_ = 0;
    const std::int64_t seen = std::max<std::int64_t>(0, keys - options_.window);
    for (std::int64_t tile = seen / kTile * kTile; tile < keys; tile += kTile) {
      add_tile(query, std::max(tile, seen), std::min(keys, tile + kTile), output);
    }
    for (std::int64_t i = 0; i < options_.value_dim; ++i) output[i] /= total_;
  }

 private:
  std::int64_t offset(std::int64_t position) const {
    const std::int64_t block = table_[position / cache_.block_size];
    const std::int64_t slot = block * cache_.block_size + position % cache_.block_size;
    return (slot * cache_.kv_heads + kv_head_) * cache_.head_dim;
  }

  float score(const float* query, std::int64_t key) const {
    const float scaled = dot(query, cache_.keys + offset(key), cache_.head_dim) * options_.scale;
    return options_.soft_cap > 0 ? options_.soft_cap * std::tanh(scaled / options_.soft_cap) : scaled;
  }

  void add_tile(const float* query, std::int64_t first, std::int64_t end, float* output) {
    std::array<float, kTile> scores;
    float maximum = maximum_;
    for (std::int64_t key = first; key < end; ++key) {
      const float of_key = score(query, key);
      scores[static_cast<std::size_t>(key - first)] = of_key;
      maximum = std::max(maximum, of_key);
    }
    const float kept = std::exp(maximum_ - maximum);  // 0 for the first tile
    total_ *= kept;
    for (std::int64_t i = 0; i < options_.value_dim; ++i) output[i] *= kept;
    for (std::int64_t key = first; key < end; ++key) {
      const float weight = std::exp(scores[static_cast<std::size_t>(key - first)] - maximum);
      const float* value = cache_.values + offset(key);
      total_ += weight;
      for (std::int64_t i = 0; i < options_.value_dim; ++i) output[i] += weight * value[i];
    }
    maximum_ = maximum;
  }

  const PagedCache& cache_;
  const AttentionOptions& options_;
  const std::int32_t* table_;
  std::int64_t kv_head_;
  float maximum_ = 0;
  float total_ = 0;
};

AttentionOptions filled(AttentionOptions options, std::int64_t head_dim) {
  if (options.scale <= 0) options.scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  if (options.window <= 0) options.window = std::numeric_limits<std::int64_t>::max();
  if (options.value_dim <= 0) options.value_dim = head_dim;
  return options;
}

}  // namespace

void store_keys_values(const PagedCache& cache,
                       const float* keys,
                       const float* values,
                       const std::int64_t* slots,
                       std::int64_t tokens) {
  const std::int64_t width = cache.kv_heads * cache.head_dim;
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (slots[t] < 0) continue;
    std::copy_n(keys + t * width, width, cache.keys + slots[t] * width);
    std::copy_n(values + t * width, width, cache.values + slots[t] * width);
  }
}

void paged_attention(const PagedCache& cache,
                     const RaggedRows& rows,
                     const AttentionOptions& options,
                     const float* queries,
                     float* output,
                     ThreadTeam& team) {
  const AttentionOptions all = filled(options, cache.head_dim);
  const std::int64_t group = all.heads / cache.kv_heads;
  team.for_ranges(all.heads, [&](std::int64_t first_head, std::int64_t end_head) {
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const std::int32_t* table = rows.block_tables + rows.table_starts[row];
      const std::int64_t begin = rows.cu_seqlens[row];
      const std::int64_t end = rows.cu_seqlens[row + 1];
      for (std::int64_t head = first_head; head < end_head; ++head) {
        HeadAttention attention(cache, all, table, head / group);
        for (std::int64_t token = begin; token < end; ++token) {
          const std::int64_t at = token * all.heads + head;
          attention.run(queries + at * cache.head_dim, rows.seq_lens[row] - (end - 1 - token),
                        output + at * all.value_dim);
        }
      }
    }
  });
}

}  // namespace servetwin
