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

// One query head against one sequence.
class HeadAttention {
 public:
  HeadAttention(const PagedCache& cache, const std::int32_t* table, std::int64_t kv_head)
      : cache_(cache), table_(table), kv_head_(kv_head) {}

  void run(const float* query, std::int64_t keys, float* output) {
    std::fill_n(output, cache_.head_dim, 0.0F);
    maximum_ = -std::numeric_limits<float>::infinity();
    total_ = 0;
    for (std::int64_t first = 0; first < keys; first += kTile) {
      add_tile(query, first, std::min(keys, first + kTile), output);
    }
    for (std::int64_t i = 0; i < cache_.head_dim; ++i) output[i] /= total_;
  }

 private:
  std::int64_t offset(std::int64_t position) const {
    const std::int64_t block = table_[position / cache_.block_size];
    const std::int64_t slot = block * cache_.block_size + position % cache_.block_size;
    return (slot * cache_.kv_heads + kv_head_) * cache_.head_dim;
  }

  void add_tile(const float* query, std::int64_t first, std::int64_t end, float* output) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(cache_.head_dim));
    std::array<float, kTile> scores;
    float maximum = maximum_;
    for (std::int64_t key = first; key < end; ++key) {
      const float score = dot(query, cache_.keys + offset(key), cache_.head_dim) * scale;
      scores[static_cast<std::size_t>(key - first)] = score;
      maximum = std::max(maximum, score);
    }
    const float kept = std::exp(maximum_ - maximum);  // 0 for the first tile
    total_ *= kept;
    for (std::int64_t i = 0; i < cache_.head_dim; ++i) output[i] *= kept;
    for (std::int64_t key = first; key < end; ++key) {
      const float weight = std::exp(scores[static_cast<std::size_t>(key - first)] - maximum);
      const float* value = cache_.values + offset(key);
      total_ += weight;
      for (std::int64_t i = 0; i < cache_.head_dim; ++i) output[i] += weight * value[i];
    }
    maximum_ = maximum;
  }

  const PagedCache& cache_;
  const std::int32_t* table_;
  std::int64_t kv_head_;
  float maximum_ = 0;
  float total_ = 0;
};

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
                     std::int64_t heads,
                     const float* queries,
                     float* output,
                     ThreadTeam& team) {
  const std::int64_t group = heads / cache.kv_heads;
  team.for_ranges(heads, [&](std::int64_t first_head, std::int64_t end_head) {
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const std::int32_t* table = rows.block_tables + rows.table_starts[row];
      const std::int64_t begin = rows.cu_seqlens[row];
      const std::int64_t end = rows.cu_seqlens[row + 1];
      for (std::int64_t head = first_head; head < end_head; ++head) {
        HeadAttention attention(cache, table, head / group);
        for (std::int64_t token = begin; token < end; ++token) {
          const std::int64_t at = (token * heads + head) * cache.head_dim;
          attention.run(queries + at, rows.seq_lens[row] - (end - 1 - token), output + at);
        }
      }
    }
  });
}

}  // namespace servetwin
