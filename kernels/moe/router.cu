// A warp a token; the largest of what is left, as often as experts are chosen.
#include <limits>

#include "kernels/cuda/reduce.cuh"
#include "kernels/moe/router_cuda.h"

namespace servetwin {
namespace {

constexpr int kRouterThreads = 128;
constexpr int kRouterWarps = kRouterThreads / kWarpSize;
constexpr float kLeastScore = -std::numeric_limits<float>::infinity();

// Floats of shared memory that a warp has.
__host__ __device__ std::int64_t router_floats(const RouterOptions& options) {
  return (options.experts * 2 + options.groups + 31) / 32 * 32;
}

struct RouterShared {
  float* scores;  // [experts], of this warp
  float* choice;  // the same with the correction; −∞ once chosen or left out
  float* groups;  // [groups]
};

__device__ RouterShared shared_of_warp(const RouterOptions& options) {
  const std::int64_t size = router_floats(options);
  float* const own = SharedLayout(dynamic_shared()).take<float>(size * kRouterWarps) + size * warp_of_block();
  return {own, own + options.experts, own + 2 * options.experts};
}

// Index of the largest, the lowest of equal ones; every lane gets it. A lane reads every 32nd number from its
// own on: those that it wrote in loops of the same stride need no barrier before.
__device__ int largest_of(const float* values, int count) {
  float best = kLeastScore;
  int index = count;
  for (int i = lane_of_warp(); i < count; i += kWarpSize) {
    if (values[i] > best) {
      best = values[i];
      index = i;
    }
  }
  for (int bits = kWarpSize / 2; bits > 0; bits /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, best, bits);
    const int other_index = __shfl_xor_sync(kAllLanes, index, bits);
    const bool is_better = other > best || (other == best && other_index < index);
    best = is_better ? other : best;
    index = is_better ? other_index : index;
  }
  return index;
}

__device__ void fill_scores(const RouterOptions& options,
                            const float* logits,
                            const float* correction,
                            const RouterShared& own) {
  const auto experts = static_cast<int>(options.experts);
  float highest = kLeastScore;
  for (int i = lane_of_warp(); i < experts; i += kWarpSize) highest = fmaxf(highest, logits[i]);
  highest = warp_max(highest);
  float total = 0.0F;
  for (int i = lane_of_warp(); i < experts; i += kWarpSize) total += expf(logits[i] - highest);
  total = warp_sum(total);
  for (int i = lane_of_warp(); i < experts; i += kWarpSize) {
    const bool is_softmax = options.score == RouterScore::kSoftmax;
    const float score = is_softmax ? expf(logits[i] - highest) / total : 1.0F / (1.0F + expf(-logits[i]));
    own.scores[i] = score;
    own.choice[i] = correction == nullptr ? score : score + correction[i];
  }
  __syncwarp();
}

// Experts outside of the best groups are left out.
__device__ void keep_groups(const RouterOptions& options, const RouterShared& own) {
  const auto groups = static_cast<int>(options.groups);
  const auto size = static_cast<int>(options.experts / options.groups);
  for (int group = lane_of_warp(); group < groups; group += kWarpSize) {
    float first = kLeastScore;
    float second = kLeastScore;
    for (int i = group * size; i < (group + 1) * size; ++i) {
      second = fmaxf(second, fminf(first, own.choice[i]));
      first = fmaxf(first, own.choice[i]);
    }
    const bool adds = options.group_score == GroupScore::kTopTwo && size > 1;
    own.groups[group] = adds ? first + second : first;
  }
  const auto left_out = static_cast<int>(options.groups - options.top_groups);
  for (int n = 0; n < static_cast<int>(options.top_groups); ++n) {
    const int best = largest_of(own.groups, groups);
    __syncwarp();
    if (lane_of_warp() == 0) own.groups[best] = kLeastScore;
    __syncwarp();
  }
  for (int i = lane_of_warp(); left_out > 0 && i < groups * size; i += kWarpSize) {
    if (own.groups[i / size] != kLeastScore) own.choice[i] = kLeastScore;
  }
}

__global__ void __launch_bounds__(kRouterThreads) route_tokens(RouterOptions options, RouterTokens all) {
  const std::int64_t token = block_x() * kRouterWarps + warp_of_block();
  if (token >= all.tokens) return;  // a whole warp
  const RouterShared own = shared_of_warp(options);
  fill_scores(options, all.logits + token * options.experts, all.correction, own);
  if (options.groups > 1) keep_groups(options, own);
  const auto top_k = static_cast<int>(options.top_k);
  std::int32_t* const ids = all.ids + token * top_k;
  float* const weights = all.weights + token * top_k;
  float total = 0.0F;
  for (int n = 0; n < top_k; ++n) {
    const int best = largest_of(own.choice, static_cast<int>(options.experts));
    total += own.scores[best];
    __syncwarp();
    if (lane_of_warp() == 0) {
      own.choice[best] = kLeastScore;
      ids[n] = best;
    }
    __syncwarp();
  }
  for (int n = lane_of_warp(); n < top_k; n += kWarpSize) {
    const float weight = own.scores[ids[n]];
    weights[n] = (options.renormalise ? weight / total : weight) * options.factor;
  }
}

}  // namespace

void route_cuda(const RouterOptions& options, const RouterTokens& tokens, CudaStream stream) {
  if (tokens.tokens == 0) return;
  CHECK_INVARIANT(options.top_groups <= options.groups, options.top_groups, options.groups);
  SharedLayout layout;
  layout.take<float>(router_floats(options) * kRouterWarps);
  const Launch how{grid_of(ceil_div(tokens.tokens, kRouterWarps)), kRouterThreads, layout.bytes(), stream};
  launch("route", how, route_tokens, options, tokens);
}

}  // namespace servetwin
