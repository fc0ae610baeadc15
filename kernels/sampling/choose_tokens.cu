// A block a row. Top-k, top-p and the draw each ask for the same: the place, in the order of falling logits
// and rising ids, at which a sum reaches a target. A search over the bits of the logit finds it in 32 passes.
#include <limits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/sampling/choose_tokens_cuda.h"

namespace servetwin {
namespace {

constexpr int kChoiceThreads = 256;

// Larger for larger numbers, the same for both zeros.
__device__ unsigned order_of(float logit) {
  const unsigned bits = logit == 0.0F ? 0U : __float_as_uint(logit);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

__device__ float number_of(unsigned order) {
  return __uint_as_float((order & 0x80000000U) != 0 ? order & 0x7FFFFFFFU : ~order);
}

// The first tokens in order: all above `order`, and the first `equals` of those that have it.
struct Front {
  unsigned order = 0;
  float equals = 0;
};

class Row {
 public:
  __device__ Row(const float* logits, std::int64_t vocab, const RowChoice& choice, float* scratch)
      : logits_(logits), vocab_(vocab), choice_(choice), scratch_(scratch) {
    float highest = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = thread_of_block(); i < vocab; i += threads_of_block()) {
      highest = fmaxf(highest, logits[i]);
    }
    highest = warp_max(highest);
    if (lane_of_warp() == 0) scratch_[warp_of_block()] = highest;
    __syncthreads();
    for (int warp = 0; warp < warps_of_block(); ++warp) highest = fmaxf(highest, scratch_[warp]);
    __syncthreads();
    highest_ = highest;
  }

  __device__ float highest() const { return highest_; }

  // In proportion to the largest's; 0 for what min-p leaves out.
  __device__ float weight(float logit) const {
    const float weight = expf((logit - highest_) / choice_.temperature);
    return weight >= choice_.min_p ? weight : 0.0F;
  }

  // Σ over tokens of `front` whose order is `least` or more, of 1 or their weights.
  template <bool counts>
  __device__ float sum(const Front& front, unsigned least) const {
    float total = 0.0F;
    for (std::int64_t i = thread_of_block(); i < vocab_; i += threads_of_block()) {
      const unsigned order = order_of(logits_[i]);
      if (order <= front.order || order < least) continue;
      total += one<counts>(logits_[i]);
    }
    total = block_sum(total, scratch_);
    __syncthreads();
    if (front.equals > 0.0F && least <= front.order)
      total += front.equals * one<counts>(number_of(front.order));
    return total;
  }

  // The shortest part of `front` whose sum is `target`, or above it if it has to be passed.
  template <bool counts>
  __device__ Front shorten(const Front& front, float target, bool passes) const {
    const auto is_enough = [=](float reached) {
      return reached > 0.0F && (passes ? reached > target : reached >= target);
    };
    unsigned order = 0;
    for (unsigned bit = 0x80000000U; bit != 0; bit >>= 1U) {
      if (is_enough(sum<counts>(front, order | bit))) order |= bit;
    }
    const float above = sum<counts>(front, order + 1U);
    const float each = one<counts>(number_of(order));
    const float most = order == front.order ? front.equals : static_cast<float>(vocab_);
    float equals = 1.0F;
    while (equals < most && !is_enough(above + equals * each)) equals += 1.0F;
    return {order, equals};
  }

  // The id of the last token of `front`: the `equals`-th that has its order.
  __device__ void write_last(const Front& front, std::int32_t* token) const {
    const std::int64_t part = ceil_div(vocab_, std::int64_t{threads_of_block()});
    const std::int64_t first = part * thread_of_block();
    const std::int64_t end = min(vocab_, first + part);
    float own = 0.0F;
    for (std::int64_t i = first; i < end; ++i) own += order_of(logits_[i]) == front.order ? 1.0F : 0.0F;
    scratch_[thread_of_block()] = own;
    __syncthreads();
    float before = 0.0F;
    for (int thread = 0; thread < thread_of_block(); ++thread) before += scratch_[thread];
    for (std::int64_t i = first; i < end; ++i) {
      if (order_of(logits_[i]) != front.order) continue;
      before += 1.0F;
      if (before == front.equals) *token = static_cast<std::int32_t>(i);
    }
  }

 private:
  template <bool counts>
  __device__ float one(float logit) const {
    const float own = weight(logit);
    return counts && own > 0.0F ? 1.0F : own;
  }

  const float* logits_;
  std::int64_t vocab_;
  RowChoice choice_;
  float* scratch_;
  float highest_;
};

__global__ void __launch_bounds__(kChoiceThreads) choose_token(TokenChoice all) {
  float* const scratch = SharedLayout(dynamic_shared()).take<float>(kChoiceThreads);
  const RowChoice choice = all.choices[block_x()];
  const Row row(all.logits + block_x() * all.vocab, all.vocab, choice, scratch);
  Front front;  // everything
  if (choice.temperature <= 0.0F) {
    row.write_last({order_of(row.highest()), 1.0F}, all.tokens + block_x());
    return;
  }
  const float count = choice.top_k > 0 ? row.sum<true>(front, 0U) : 0.0F;
  if (choice.top_k > 0 && static_cast<float>(choice.top_k) < count) {
    front = row.shorten<true>(front, static_cast<float>(choice.top_k), false);
  }
  if (choice.top_p < 1.0F) {
    front = row.shorten<false>(front, choice.top_p * row.sum<false>(front, 0U), false);
  }
  const float total = row.sum<false>(front, 0U);
  const float target = choice.unit * total;  // rounding may make it the total, which nothing passes
  row.write_last(row.shorten<false>(front, target, target < total), all.tokens + block_x());
}

}  // namespace

void choose_tokens_cuda(const TokenChoice& choice, CudaStream stream) {
  if (choice.rows == 0) return;
  const Launch how{grid_of(choice.rows), kChoiceThreads, kChoiceThreads * sizeof(float), stream};
  launch("choose_tokens", how, choose_token, choice);
}

}  // namespace servetwin
