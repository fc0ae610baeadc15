// Flash decoding: a block takes a few query heads of one KV head over a stretch of keys, its warps every
// fourth key each, with a softmax of their own; a second kernel merges the stretches.
#include "kernels/attention/paged_attention_cuda.h"
#include "kernels/attention/scores.cuh"
#include "kernels/cuda/reduce.cuh"

namespace servetwin {
namespace {

constexpr int kDecodeThreads = 128;
constexpr int kDecodeWarps = kDecodeThreads / kWarpSize;
constexpr int kHeadTile = 4;  // query heads that share what is read of the cache

struct DecodePartials {
  float* outputs;  // [rows][heads][splits][value_dim]
  float* lse;      // [rows][heads][splits]
  std::int64_t splits;
};

DecodePartials partials_in(float* scratch, const AttentionArguments& all) {
  const std::int64_t splits = ceil_div(all.rows.max_keys, kSplitKeys);
  const std::int64_t outputs = all.rows.rows * all.options.heads * splits * all.options.value_dim;
  return {scratch, scratch + outputs, splits};
}

// What this block does.
struct DecodeTask {
  std::int64_t row;
  std::int64_t kv_head;
  std::int64_t first_head;
  int heads;           // up to kHeadTile
  std::int64_t first;  // keys [first, end)
  std::int64_t end;
};

__device__ DecodeTask decode_task(const AttentionArguments& all) {
  const std::int64_t group = all.options.heads / all.cache.kv_heads;
  const std::int64_t tiles = ceil_div(group, kHeadTile);
  const std::int64_t in_group = block_y() % tiles * kHeadTile;
  DecodeTask task{};
  task.row = block_z();
  task.kv_head = block_y() / tiles;
  task.first_head = task.kv_head * group + in_group;
  task.heads = static_cast<int>(min(std::int64_t{kHeadTile}, group - in_group));
  const std::int64_t seen = all.rows.seq_lens[task.row];
  task.first = max(block_x() * kSplitKeys, first_key(all, seen - 1));
  task.end = min((block_x() + 1) * kSplitKeys, seen);
  return task;
}

struct DecodeShared {
  float* queries;  // [kHeadTile][head_dim], scaled
  float* sums;     // [kDecodeWarps][kHeadTile][value_dim]
  float* maxima;   // [kDecodeWarps][kHeadTile]
  float* totals;

  __host__ __device__ DecodeShared(SharedLayout& layout, std::int64_t head_dim, std::int64_t value_dim)
      : queries(layout.take<float>(kHeadTile * head_dim)),
        sums(layout.take<float>(kDecodeWarps * kHeadTile * value_dim)),
        maxima(layout.take<float>(kDecodeWarps * kHeadTile)),
        totals(layout.take<float>(kDecodeWarps * kHeadTile)) {}
};

// A lane's elements of a vector: one pack where `whole`, else every 32nd.
template <int parts, bool whole>
struct LanePart {
  __device__ static int index(int part) {
    return whole ? lane_of_warp() * parts + part : lane_of_warp() + kWarpSize * part;
  }

  template <class C>
  __device__ static void load(const C* vector, int head_dim, float (&to)[std::size_t{parts}]) {
    if constexpr (whole) {
      const Pack<C, parts> pack = load_pack<parts>(vector + index(0));
      for (int part = 0; part < parts; ++part) to[part] = to_float(pack.values[part]);
    } else {
      for (int part = 0; part < parts; ++part) {
        to[part] = index(part) < head_dim ? to_float(vector[index(part)]) : 0.0F;
      }
    }
  }
};

// A warp's softmax of one query head.
template <int parts>
struct HeadState {
  float maximum = kNoScore;
  float total = 0.0F;
  float sums[std::size_t{parts}] = {};

  __device__ void add(float score, float value_scale, const float (&value)[std::size_t{parts}]) {
    const float highest = fmaxf(maximum, score);
    const float kept = rescale(maximum, highest);
    const float weight = expf(score - highest);
    total = total * kept + weight;
    for (int part = 0; part < parts; ++part)
      sums[part] = sums[part] * kept + weight * value_scale * value[part];
    maximum = highest;
  }
};

template <class C, int parts, bool whole>
__device__ void see_keys(const AttentionArguments& all,
                         const DecodeTask& task,
                         const float* queries,
                         HeadState<parts> (&heads)[kHeadTile]) {
  using Part = LanePart<parts, whole>;
  const auto head_dim = static_cast<int>(all.cache.head_dim);
  for (std::int64_t key = task.first + warp_of_block(); key < task.end; key += kDecodeWarps) {
    const std::int64_t vector = cached_vector(all, task.row, key, task.kv_head);
    float key_part[std::size_t{parts}];
    float value_part[std::size_t{parts}];
    Part::load(static_cast<const C*>(all.cache.keys) + vector * head_dim, head_dim, key_part);
    // A value that is the beginning of its key ends in zeros that nobody writes out.
    const auto value_dim = static_cast<int>(all.options.value_dim);
    Part::load(static_cast<const C*>(all.cache.values) + vector * head_dim, value_dim, value_part);
    const float key_scale = kHasScale<C> ? all.cache.key_scales[vector] : 1.0F;
    const float value_scale = kHasScale<C> ? all.cache.value_scales[vector] : 1.0F;
    for (int head = 0; head < task.heads; ++head) {
      float product = 0.0F;
      for (int part = 0; part < parts; ++part) {
        const int i = Part::index(part);
        if (whole || i < head_dim) product += queries[head * head_dim + i] * key_part[part];
      }
      const float score = capped(all.options, warp_sum(product) * key_scale);
      heads[head].add(score, value_scale, value_part);
    }
  }
}

// Merges the warps of a block and writes the stretch's result.
__device__ void write_partials(const AttentionArguments& all,
                               const DecodeTask& task,
                               const DecodeShared& shared,
                               const DecodePartials& partials) {
  const auto value_dim = static_cast<int>(all.options.value_dim);
  for (int at = thread_of_block(); at < task.heads * value_dim; at += threads_of_block()) {
    const int head = at / value_dim;
    float highest = kNoScore;
    for (int warp = 0; warp < kDecodeWarps; ++warp) {
      highest = fmaxf(highest, shared.maxima[warp * kHeadTile + head]);
    }
    float total = 0.0F;
    float sum = 0.0F;
    for (int warp = 0; warp < kDecodeWarps; ++warp) {
      const float kept = rescale(shared.maxima[warp * kHeadTile + head], highest);
      total += kept * shared.totals[warp * kHeadTile + head];
      sum += kept * shared.sums[warp * kHeadTile * value_dim + at];
    }
    const std::int64_t out =
        (task.row * all.options.heads + task.first_head + head) * partials.splits + block_x();
    partials.outputs[out * value_dim + at % value_dim] = sum / total;
    if (at % value_dim == 0) partials.lse[out] = highest + logf(total);
  }
}

template <class T, class C, int parts, bool whole>
__global__ void __launch_bounds__(kDecodeThreads)
    decode_stretch(AttentionArguments all, const T* queries, DecodePartials partials) {
  const DecodeTask task = decode_task(all);
  const std::int64_t first_out =
      (task.row * all.options.heads + task.first_head) * partials.splits + block_x();
  if (task.first >= task.end) {
    if (thread_of_block() < task.heads)
      partials.lse[first_out + thread_of_block() * partials.splits] = kNoScore;
    return;
  }
  const auto head_dim = static_cast<int>(all.cache.head_dim);
  SharedLayout layout(dynamic_shared());
  const auto value_dim = static_cast<int>(all.options.value_dim);
  const DecodeShared shared(layout, head_dim, value_dim);
  const T* const own = queries + (task.row * all.options.heads + task.first_head) * head_dim;
  for (int i = thread_of_block(); i < task.heads * head_dim; i += threads_of_block()) {
    shared.queries[i] = to_float(own[i]) * all.options.scale;
  }
  __syncthreads();
  HeadState<parts> heads[kHeadTile];
  see_keys<C, parts, whole>(all, task, shared.queries, heads);
  for (int head = 0; head < task.heads; ++head) {
    const int at = warp_of_block() * kHeadTile + head;
    for (int part = 0; part < parts; ++part) {
      const int i = LanePart<parts, whole>::index(part);
      if (whole || i < value_dim) shared.sums[at * value_dim + i] = heads[head].sums[part];
    }
    if (lane_of_warp() > 0) continue;
    shared.maxima[at] = heads[head].maximum;
    shared.totals[at] = heads[head].total;
  }
  __syncthreads();
  write_partials(all, task, shared, partials);
}

template <class T>
__global__ void __launch_bounds__(kDecodeThreads)
    merge_stretches(DecodePartials partials, std::int64_t value_dim, T* output) {
  const std::int64_t head = block_y() * blocks_x() + block_x();  // of all rows
  const float* const lse = partials.lse + head * partials.splits;
  float highest = kNoScore;
  for (std::int64_t split = 0; split < partials.splits; ++split) highest = max_or_nan(highest, lse[split]);
  for (std::int64_t i = thread_of_block(); i < value_dim; i += threads_of_block()) {
    float total = 0.0F;
    float sum = 0.0F;
    for (std::int64_t split = 0; split < partials.splits; ++split) {
      if (lse[split] == kNoScore) continue;
      const float kept = expf(lse[split] - highest);
      total += kept;
      sum += kept * partials.outputs[(head * partials.splits + split) * value_dim + i];
    }
    output[head * value_dim + i] = from_float<T>(highest == kNoScore ? 0.0F : sum / total);
  }
}

template <class T, class C>
auto decode_kernel(std::int64_t head_dim, std::int64_t value_dim) {
  if (head_dim == 64 && value_dim == 64) return decode_stretch<T, C, 2, true>;
  if (head_dim == 128 && value_dim == 128) return decode_stretch<T, C, 4, true>;
  if (head_dim <= 256) return decode_stretch<T, C, 8, false>;
  return decode_stretch<T, C, 18, false>;
}

}  // namespace

std::size_t paged_decode_scratch(const PagedRows& rows,
                                 const AttentionOptions& options,
                                 std::int64_t head_dim) {
  const std::int64_t stretches = rows.rows * options.heads * ceil_div(rows.max_keys, kSplitKeys);
  return static_cast<std::size_t>(stretches * ((options.value_dim > 0 ? options.value_dim : head_dim) + 1));
}

void paged_decode_cuda(const PagedCache& cache,
                       const PagedRows& rows,
                       const AttentionOptions& options,
                       const AttentionTokens& tokens,
                       float* scratch,
                       CudaStream stream) {
  if (rows.rows == 0) return;
  const AttentionArguments all = attention_arguments(cache, rows, options);
  const std::int64_t value_dim = all.options.value_dim;
  CHECK_INVARIANT(value_dim <= cache.head_dim, value_dim);
  CHECK_INVARIANT(cache.head_dim <= kMaxDecodeHeadDim, cache.head_dim);
  const DecodePartials partials = partials_in(scratch, all);
  const std::int64_t tiles = cache.kv_heads * ceil_div(options.heads / cache.kv_heads, kHeadTile);
  SharedLayout layout;
  DecodeShared(layout, cache.head_dim, value_dim);
  with_cache_type(tokens.dtype, cache.dtype, [&](auto element, auto cached) {
    using T = decltype(element);
    if (partials.splits > 0) {
      const Launch how{grid_of(partials.splits, tiles, rows.rows), kDecodeThreads, layout.bytes(), stream};
      launch("paged_decode", how, decode_kernel<T, decltype(cached)>(cache.head_dim, value_dim), all,
             static_cast<const T*>(tokens.queries), partials);
    }
    const Launch merge{grid_of(options.heads, rows.rows), kDecodeThreads, 0, stream};
    launch("paged_decode merge", merge, merge_stretches<T>, partials, value_dim,
           static_cast<T*>(tokens.output));
  });
}

}  // namespace servetwin
