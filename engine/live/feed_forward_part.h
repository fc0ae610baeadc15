// The feed-forward part of one layer: dense, or routed experts with shared ones beside them.
#pragma once

#include <vector>

#include "engine/live/step_context.h"

namespace servetwin {

class FeedForwardPart {
 public:
  explicit FeedForwardPart(const ModelSpec& spec) : spec_(spec) {}

  // Replaces `hidden`, [tokens][hidden].
  void run(const LayerWeights& weights,
           const LayerSpec& layer,
           const StepContext& step,
           std::vector<float>& hidden);

 private:
  void dense(const DenseWeights& weights,
             const StepContext& step,
             const std::vector<float>& input,
             std::vector<float>& output);
  void experts(const LayerWeights& weights, const StepContext& step, std::vector<float>& hidden);

  const ModelSpec& spec_;
  std::vector<float> gate_;
  std::vector<float> up_;
  std::vector<float> input_;
  std::vector<float> shared_;
  std::vector<float> router_logits_;
  std::vector<std::int32_t> experts_;  // [tokens][top_k]
  std::vector<float> shares_;
};

}  // namespace servetwin
