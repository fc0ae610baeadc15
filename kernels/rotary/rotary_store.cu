// A block a token: its cosines and sines once, in shared memory; then a warp a head, of queries and of the
// cache.
#include "kernels/cuda/cached.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/rotary/rotary_store_cuda.h"

namespace servetwin {
namespace {

constexpr int kRotaryThreads = 256;

struct Turns {
  const float* cosines;
  const float* sines;
  int pairs;
  int partner;  // elements from the first of a pair to the second
  int step;     // from a pair to the next
};

__device__ Turns turns_of_token(const RotaryTokens& all) {
  SharedLayout shared(dynamic_shared());
  float* const cosines = shared.take<float>(all.pairs);
  float* const sines = shared.take<float>(all.pairs);
  const auto position = static_cast<float>(all.positions[block_x()]);
  for (int pair = thread_of_block(); pair < all.pairs; pair += threads_of_block()) {
    float sine = 0.0F;
    float cosine = 0.0F;
    sincosf(position * all.speeds[pair], &sine, &cosine);
    cosines[pair] = cosine * all.magnitude;
    sines[pair] = sine * all.magnitude;
  }
  __syncthreads();
  const auto pairs = static_cast<int>(all.pairs);
  const bool halves = all.layout == RotaryLayout::kNeox;
  return {cosines, sines, pairs, halves ? pairs : 1, halves ? 1 : 2};
}

// Calls visit(i, number) for the elements of a turned head that are this lane's; both of a pair are read
// before the first is given.
template <class T, class Visit>
__device__ void visit_turned(const Turns& turns, const T* head, int head_dim, Visit visit) {
  for (int pair = lane_of_warp(); pair < turns.pairs; pair += kWarpSize) {
    const int i = pair * turns.step;
    const float a = to_float(head[i]);
    const float b = to_float(head[i + turns.partner]);
    visit(i, a * turns.cosines[pair] - b * turns.sines[pair]);
    visit(i + turns.partner, b * turns.cosines[pair] + a * turns.sines[pair]);
  }
  for (int i = 2 * turns.pairs + lane_of_warp(); i < head_dim; i += kWarpSize) visit(i, to_float(head[i]));
}

// Writes a head's vector to its slot; `pairs` of `turns` is 0 for values.
template <class T, class C>
__device__ void store_vector(
    const Turns& turns, const T* head, int head_dim, void* cache, float* scales, std::int64_t vector) {
  float magnitude = 0.0F;
  if constexpr (kHasScale<C>) {
    visit_turned(turns, head, head_dim, [&](int, float x) { magnitude = max_or_nan(magnitude, fabsf(x)); });
    magnitude = warp_max_or_nan(magnitude);
  }
  const float scale = scale_of_vector<C>(magnitude);
  if (kHasScale<C> && lane_of_warp() == 0) scales[vector] = scale;
  C* const to = static_cast<C*>(cache) + vector * head_dim;
  visit_turned(turns, head, head_dim, [&](int i, float x) { to[i] = to_cached<C>(x, scale); });
}

template <class T, class C>
__global__ void __launch_bounds__(kRotaryThreads) turn_and_store(RotaryTokens all, PagedCache cache) {
  const Turns turns = turns_of_token(all);
  const auto head_dim = static_cast<int>(cache.head_dim);
  const std::int64_t token = block_x();
  const std::int64_t slot = all.slots[token];
  const std::int64_t kv_heads = slot < 0 ? 0 : cache.kv_heads;
  for (std::int64_t head = warp_of_block(); head < all.heads + kv_heads; head += warps_of_block()) {
    if (head < all.heads) {
      T* const query = static_cast<T*>(all.queries) + (token * all.heads + head) * head_dim;
      visit_turned(turns, query, head_dim, [&](int i, float x) { query[i] = from_float<T>(x); });
      continue;
    }
    const std::int64_t kv_head = head - all.heads;
    const std::int64_t from = (token * cache.kv_heads + kv_head) * head_dim;
    const std::int64_t vector = slot * cache.kv_heads + kv_head;
    store_vector<T, C>(turns, static_cast<const T*>(all.keys) + from, head_dim, cache.keys, cache.key_scales,
                       vector);
    if (cache.values == cache.keys) continue;
    const Turns still{turns.cosines, turns.sines, 0, 0, 0};
    store_vector<T, C>(still, static_cast<const T*>(all.values) + from, head_dim, cache.values,
                       cache.value_scales, vector);
  }
}

}  // namespace

void rotary_store_cuda(const RotaryTokens& tokens, const PagedCache& cache, CudaStream stream) {
  if (tokens.tokens == 0) return;
  SharedLayout shared;
  shared.take<float>(tokens.pairs);
  shared.take<float>(tokens.pairs);
  const Launch how{grid_of(tokens.tokens), kRotaryThreads, shared.bytes(), stream};
  with_cache_type(tokens.dtype, cache.dtype, [&](auto element, auto cached) {
    launch("rotary_store", how, turn_and_store<decltype(element), decltype(cached)>, tokens, cache);
  });
}

}  // namespace servetwin
