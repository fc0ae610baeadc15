// Threads share out the pairs of a query token and a head.
#include "kernels/attention/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/vectors/dispatch.h"

namespace servetwin {
namespace {

AttentionOptions filled(AttentionOptions options, std::int64_t head_dim) {
  if (options.scale <= 0) options.scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  if (options.window <= 0) options.window = std::numeric_limits<std::int64_t>::max();
  if (options.value_dim <= 0) options.value_dim = head_dim;
  return options;
}

AttendTask task_of(const PagedCache& cache, const AttentionOptions& options) {
  AttendTask task;
  task.dtype = cache.dtype;
  task.keys = static_cast<const std::byte*>(cache.keys);
  task.values = static_cast<const std::byte*>(cache.values);
  task.key_scales = cache.key_scales;
  task.value_scales = cache.value_scales;
  task.block_size = cache.block_size;
  task.kv_heads = cache.kv_heads;
  task.head_dim = cache.head_dim;
  task.value_dim = options.value_dim;
  task.scale = options.scale;
  task.soft_cap = options.soft_cap;
  return task;
}

float* scale_at(float* scales, std::int64_t vector) { return scales == nullptr ? nullptr : scales + vector; }

// Of queries and keys, of all heads.
std::int64_t pairs_of(const RaggedRows& rows, const AttentionOptions& options) {
  std::int64_t pairs = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::int64_t queries = rows.cu_seqlens[row + 1] - rows.cu_seqlens[row];
    for (std::int64_t query = 0; query < queries; ++query) {
      pairs += std::min(rows.seq_lens[row] - query, options.window);
    }
  }
  return pairs * options.heads;
}

}  // namespace

void store_keys_values(const PagedCache& cache,
                       const float* keys,
                       const float* values,
                       const std::int64_t* slots,
                       std::int64_t tokens) {
  const std::int64_t dim = cache.head_dim;
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (slots[t] < 0) continue;
    for (std::int64_t head = 0; head < cache.kv_heads; ++head) {
      const std::int64_t from = (t * cache.kv_heads + head) * dim;
      const std::int64_t to = slots[t] * cache.kv_heads + head;
      store_elements(cache.dtype, keys + from, dim, cache.keys, to * dim, scale_at(cache.key_scales, to));
      if (cache.values == cache.keys) continue;
      store_elements(cache.dtype, values + from, dim, cache.values, to * dim,
                     scale_at(cache.value_scales, to));
    }
  }
}

void paged_attention(const VectorKernels& kernels,
                     const PagedCache& cache,
                     const RaggedRows& rows,
                     const AttentionOptions& options,
                     const float* queries,
                     float* output,
                     ThreadTeam& team) {
  const AttentionOptions all = filled(options, cache.head_dim);
  const std::int64_t group = all.heads / cache.kv_heads;
  const auto work = [&](std::int64_t first, std::int64_t end) {
    const auto scratch = std::make_unique_for_overwrite<float[]>(
        static_cast<std::size_t>(attend_scratch(cache.head_dim, all.value_dim)));
    AttendTask task = task_of(cache, all);
    task.scratch = scratch.get();
    std::int64_t row = 0;
    for (std::int64_t at = first; at < end; ++at) {
      const std::int64_t token = at / all.heads;
      while (rows.cu_seqlens[row + 1] <= token) ++row;
      task.table = rows.block_tables + rows.table_starts[row];
      task.kv_head = at % all.heads / group;
      task.end = rows.seq_lens[row] - (rows.cu_seqlens[row + 1] - 1 - token);
      task.first = std::max<std::int64_t>(0, task.end - all.window);
      task.query = queries + at * cache.head_dim;
      task.output = output + at * all.value_dim;
      kernels.attend(task);
    }
  };
  team.for_ranges(rows.cu_seqlens[rows.rows] * all.heads, work);
  team.count_flops(2 * (cache.head_dim + all.value_dim) * pairs_of(rows, all));
}

void paged_attention(const PagedCache& cache,
                     const RaggedRows& rows,
                     const AttentionOptions& options,
                     const float* queries,
                     float* output,
                     ThreadTeam& team) {
  paged_attention(vector_kernels(), cache, rows, options, queries, output, team);
}

}  // namespace servetwin
