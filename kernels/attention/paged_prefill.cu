// Flash attention: a block takes 64 query tokens of one head and one row, its warps 16 each, and goes over
// tiles of keys at fixed positions with a running softmax whose sums wait in shared memory.
#include "kernels/attention/paged_attention_cuda.h"
#include "kernels/attention/scores.cuh"
#include "kernels/attention/tile_products.cuh"
#include "kernels/cuda/reduce.cuh"

namespace servetwin {
namespace {

constexpr int kPrefillWarps = 4;
constexpr int kPrefillThreads = kPrefillWarps * kWarpSize;
constexpr int kQueryTile = kPrefillWarps * kTileRows;
static_assert(kTileKeys == kWarpSize, "the softmax has a lane for each key");

__host__ __device__ int tile_width(std::int64_t head_dim) {
  return static_cast<int>((head_dim + 15) / 16 * 16);
}

template <class T>
struct PrefillShared {
  T* queries;           // [kQueryTile][width]
  T* keys;              // [kTileKeys][width]
  T* values;            // [kTileKeys][width]
  T* weights;           // [kQueryTile][kTileKeys]
  float* scores;        // [kQueryTile][kTileKeys]
  float* sums;          // [kQueryTile][width]
  float* key_scales;    // [kTileKeys]
  float* value_scales;  // [kTileKeys]

  __host__ __device__ PrefillShared(SharedLayout& layout, int width)
      : queries(layout.take<T>(kQueryTile * width)),
        keys(layout.take<T>(kTileKeys * width)),
        values(layout.take<T>(kTileKeys * width)),
        weights(layout.take<T>(kQueryTile * kTileKeys)),
        scores(layout.take<float>(kQueryTile * kTileKeys)),
        sums(layout.take<float>(kQueryTile * width)),
        key_scales(layout.take<float>(kTileKeys)),
        value_scales(layout.take<float>(kTileKeys)) {}
};

// What this block does.
struct PrefillTask {
  std::int64_t row;
  std::int64_t head;
  std::int64_t kv_head;
  std::int64_t first_token;  // of the batch
  int queries;               // up to kQueryTile; none or fewer: nothing to do
  std::int64_t position;     // of the first query
  std::int64_t keys;         // that the last query sees
};

__device__ PrefillTask prefill_task(const AttentionArguments& all) {
  PrefillTask task{};
  task.row = block_z();
  task.head = block_y();
  task.kv_head = task.head / (all.options.heads / all.cache.kv_heads);
  const std::int64_t begin = all.rows.cu_seqlens[task.row];
  const std::int64_t count = all.rows.cu_seqlens[task.row + 1] - begin;
  const std::int64_t first = block_x() * kQueryTile;
  task.first_token = begin + first;
  task.queries = static_cast<int>(min(std::int64_t{kQueryTile}, count - first));
  task.position = all.rows.seq_lens[task.row] - count + first;
  task.keys = task.position + task.queries;
  return task;
}

// A warp brings a vector of `head_dim` elements to a row of a tile, `size` at a time, zeros behind it; zeros
// alone where there is none.
template <int size, class T, class C>
__device__ void load_packs(const C* from, int head_dim, T* to) {
  const int width = tile_width(head_dim);
  for (int i = lane_of_warp() * size; i < width; i += kWarpSize * size) {
    Pack<T, size> numbers;
    for (T& number : numbers.values) number = from_float<T>(0.0F);
    if (from != nullptr && i < head_dim) {
      const Pack<C, size> stored = load_pack<size>(from + i);
      for (int j = 0; j < size; ++j) numbers.values[j] = from_float<T>(to_float(stored.values[j]));
    }
    store_pack<size>(to + i, numbers);
  }
}

template <class T, class C>
__device__ void load_vector(const C* from, int head_dim, T* to) {
  if (head_dim % 4 == 0) {
    load_packs<4>(from, head_dim, to);
  } else {
    load_packs<1>(from, head_dim, to);
  }
}

template <class T>
__device__ void load_queries(const AttentionArguments& all,
                             const PrefillTask& task,
                             const T* queries,
                             const PrefillShared<T>& shared) {
  const auto head_dim = static_cast<int>(all.cache.head_dim);
  const int width = tile_width(head_dim);
  for (int query = warp_of_block(); query < kQueryTile; query += kPrefillWarps) {
    const std::int64_t vector = (task.first_token + query) * all.options.heads + task.head;
    const T* const from = query < task.queries ? queries + vector * head_dim : nullptr;
    load_vector(from, head_dim, shared.queries + query * width);
  }
  for (int at = thread_of_block(); at < kQueryTile * width; at += threads_of_block()) shared.sums[at] = 0.0F;
}

// Keys beyond those that are seen become zeros, so that no number of theirs can spoil a product.
template <class T, class C>
__device__ void load_keys(const AttentionArguments& all,
                          const PrefillTask& task,
                          std::int64_t first,
                          const PrefillShared<T>& shared) {
  const auto head_dim = static_cast<int>(all.cache.head_dim);
  const int width = tile_width(head_dim);
  for (int at = warp_of_block(); at < kTileKeys; at += kPrefillWarps) {
    const bool seen = first + at < task.keys;
    const std::int64_t vector = seen ? cached_vector(all, task.row, first + at, task.kv_head) : 0;
    const auto* const keys = static_cast<const C*>(all.cache.keys) + vector * head_dim;
    const auto* const values = static_cast<const C*>(all.cache.values) + vector * head_dim;
    load_vector(seen ? keys : nullptr, head_dim, shared.keys + at * width);
    load_vector(seen ? values : nullptr, head_dim, shared.values + at * width);
    if (lane_of_warp() > 0) continue;
    const bool scaled = kHasScale<C> && seen;
    shared.key_scales[at] = scaled ? all.cache.key_scales[vector] : 1.0F;
    shared.value_scales[at] = scaled ? all.cache.value_scales[vector] : 1.0F;
  }
}

// Running softmax of a warp's rows: the same in all lanes.
struct RowState {
  float maximum = kNoScore;
  float total = 0.0F;
};

// Scores of a tile become weights, and the sums so far are brought to the new maximum.
template <class T>
__device__ void weigh(const AttentionArguments& all,
                      const PrefillTask& task,
                      std::int64_t first,
                      const PrefillShared<T>& shared,
                      RowState (&states)[kTileRows]) {
  const int lane = lane_of_warp();
  const int width = tile_width(all.cache.head_dim);
  const std::int64_t key = first + lane;
  for (int row = 0; row < kTileRows; ++row) {
    const int query = warp_of_block() * kTileRows + row;
    const std::int64_t position = task.position + query;
    const bool seen = query < task.queries && key <= position && key >= first_key(all, position);
    const float product = shared.scores[query * kTileKeys + lane] * shared.key_scales[lane];
    const float score = seen ? capped(all.options, product * all.options.scale) : kNoScore;
    RowState& state = states[row];
    const float highest = fmaxf(state.maximum, warp_max(score));
    const float weight = seen ? expf(score - highest) : 0.0F;
    const float kept = rescale(state.maximum, highest);
    state.total = state.total * kept + warp_sum(weight);
    state.maximum = highest;
    shared.weights[query * kTileKeys + lane] = from_float<T>(weight * shared.value_scales[lane]);
    for (int i = lane; i < width; i += kWarpSize) shared.sums[query * width + i] *= kept;
  }
}

template <class T>
__device__ void write_rows(const AttentionArguments& all,
                           const PrefillTask& task,
                           const PrefillShared<T>& shared,
                           const RowState (&states)[kTileRows],
                           T* output) {
  const auto head_dim = static_cast<int>(all.cache.head_dim);
  const int width = tile_width(head_dim);
  for (int row = 0; row < kTileRows; ++row) {
    const int query = warp_of_block() * kTileRows + row;
    if (query >= task.queries) break;
    T* const to = output + ((task.first_token + query) * all.options.heads + task.head) * head_dim;
    const bool saw_keys = states[row].maximum != kNoScore;
    for (int i = lane_of_warp(); i < head_dim; i += kWarpSize) {
      to[i] = from_float<T>(saw_keys ? shared.sums[query * width + i] / states[row].total : 0.0F);
    }
  }
}

template <class T, class C>
__global__ void __launch_bounds__(kPrefillThreads)
    prefill_tile(AttentionArguments all, const T* queries, T* output) {
  const PrefillTask task = prefill_task(all);
  if (task.queries <= 0) return;
  const int width = tile_width(all.cache.head_dim);
  SharedLayout layout(dynamic_shared());
  const PrefillShared<T> shared(layout, width);
  const int own_row = warp_of_block() * kTileRows;
  RowState states[kTileRows];
  load_queries(all, task, queries, shared);
  const std::int64_t start = first_key(all, task.position) / kTileKeys * kTileKeys;
  for (std::int64_t first = start; first < task.keys; first += kTileKeys) {
    load_keys<T, C>(all, task, first, shared);
    __syncthreads();
    TileProducts<T>::score(shared.queries + own_row * width, shared.keys, width,
                           shared.scores + own_row * kTileKeys);
    weigh(all, task, first, shared, states);
    __syncwarp();
    TileProducts<T>::add(shared.weights + own_row * kTileKeys, shared.values, width,
                         shared.sums + own_row * width);
    __syncthreads();
  }
  write_rows(all, task, shared, states, output);
}

}  // namespace

void paged_prefill_cuda(const PagedCache& cache,
                        const PagedRows& rows,
                        const AttentionOptions& options,
                        const AttentionTokens& tokens,
                        CudaStream stream) {
  if (rows.rows == 0 || rows.max_queries == 0) return;
  const AttentionArguments all = attention_arguments(cache, rows, options);
  CHECK_INVARIANT(cache.head_dim <= kMaxPrefillHeadDim, cache.head_dim);
  CHECK_INVARIANT(all.options.value_dim == cache.head_dim, all.options.value_dim);
  const dim3 grid = grid_of(ceil_div(rows.max_queries, kQueryTile), options.heads, rows.rows);
  with_cache_type(tokens.dtype, cache.dtype, [&](auto element, auto cached) {
    using T = decltype(element);
    SharedLayout layout;
    PrefillShared<T>(layout, tile_width(cache.head_dim));
    const Launch how{grid, kPrefillThreads, layout.bytes(), stream};
    launch("paged_prefill", how, prefill_tile<T, decltype(cached)>, all,
           static_cast<const T*>(tokens.queries), static_cast<T*>(tokens.output));
  });
}

}  // namespace servetwin
