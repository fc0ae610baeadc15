// The feed-forward part of one layer: dense, or routed experts with shared ones beside them.
#pragma once

#include <memory>
#include <vector>

#include "engine/live/expert_exchange.h"
#include "engine/live/step_context.h"

namespace servetwin {

class FeedForwardPart {
 public:
  // With a group each of its ranks has expert_share() of the experts, whole, and tokens of its own; it must
  // outlive the part. Without, all experts are here, or this rank's columns of all of them.
  explicit FeedForwardPart(const ModelSpec& spec, Communicator* group = nullptr);

  // Whether a layer's experts are reached by an exchange: then all ranks call run() for it, each with its own
  // tokens, which may be none, and the result is whole.
  bool exchanges() const { return exchange_ != nullptr; }
  // Replaces `hidden`, [tokens][hidden].
  void run(const LayerWeights& weights,
           const LayerSpec& layer,
           std::int64_t tokens,
           ThreadTeam& team,
           std::vector<float>& hidden);

 private:
  // What a product needs.
  struct Rows {
    std::int64_t count;
    ThreadTeam& team;
  };

  void dense(const DenseWeights& weights,
             const Rows& rows,
             const std::vector<float>& input,
             std::vector<float>& output);
  void experts(const LayerWeights& weights, const Rows& rows, std::vector<float>& hidden);

  const ModelSpec& spec_;
  std::unique_ptr<ExpertExchange> exchange_;
  std::vector<float> gate_;
  std::vector<float> up_;
  std::vector<float> input_;
  std::vector<float> shared_;
  std::vector<float> router_logits_;
  std::vector<std::int32_t> experts_;  // [tokens][top_k]
  std::vector<float> shares_;
};

}  // namespace servetwin
