// Gate and up, activation, down; with experts: route, each expert's tokens, shared experts added.
#include "engine/live/feed_forward_part.h"

#include "kernels/activation/gelu_and_mul.h"
#include "kernels/activation/silu_and_mul.h"
#include "kernels/moe/grouped_experts.h"
#include "kernels/moe/router.h"

namespace servetwin {
namespace {

RouterOptions router_options(const MoeSpec& moe) {
  RouterOptions options;
  options.experts = moe.num_experts;
  options.top_k = moe.top_k;
  options.score = moe.sigmoid ? RouterScore::kSigmoid : RouterScore::kSoftmax;
  options.renormalise = moe.renormalised;
  options.factor = static_cast<float>(moe.factor);
  options.groups = moe.groups;
  options.top_groups = moe.top_groups;
  options.group_score = moe.sigmoid ? GroupScore::kTopTwo : GroupScore::kMaximum;
  return options;
}

}  // namespace

FeedForwardPart::FeedForwardPart(const ModelSpec& spec, Communicator* group) : spec_(spec) {
  if (group != nullptr) exchange_ = std::make_unique<ExpertExchange>(spec, *group);
}

void FeedForwardPart::run(const LayerWeights& weights,
                          const LayerSpec& layer,
                          std::int64_t tokens,
                          ThreadTeam& team,
                          std::vector<float>& hidden) {
  const Rows rows{tokens, team};
  if (layer.has_experts) return experts(weights, rows, hidden);
  dense(weights.dense, rows, hidden, hidden);
}

// Output may be the input.
void FeedForwardPart::dense(const DenseWeights& weights,
                            const Rows& rows,
                            const std::vector<float>& input,
                            std::vector<float>& output) {
  const std::int64_t tokens = rows.count;
  const Product products[] = {product(weights.gate, tokens, gate_), product(weights.up, tokens, up_)};
  matmul(products, tokens, input.data(), rows.team);
  const auto size = static_cast<std::int64_t>(gate_.size());
  if (spec_.activation == Activation::kGeluTanh) {
    gelu_and_mul(gate_.data(), up_.data(), size);
  } else {
    silu_and_mul(gate_.data(), up_.data(), size);
  }
  matmul(product(weights.down, tokens, output), tokens, gate_.data(), rows.team);
}

void FeedForwardPart::experts(const LayerWeights& weights, const Rows& rows, std::vector<float>& hidden) {
  const std::int64_t tokens = rows.count;
  const MoeSpec& moe = spec_.moe;
  router_logits_.resize(elements(tokens, moe.num_experts));
  if (tokens > 0) matmul(product(weights.router, tokens, router_logits_), tokens, hidden.data(), rows.team);
  experts_.resize(elements(tokens, moe.top_k));
  shares_.resize(experts_.size());
  const Weights& correction = weights.router_correction;
  route(router_options(moe), router_logits_.data(), correction.empty() ? nullptr : correction.data(), tokens,
        experts_.data(), shares_.data());
  input_ = hidden;
  const RoutedTokens routed{tokens, moe.top_k, experts_.data(), shares_.data()};
  if (exchange_ != nullptr) {
    exchange_->run(weights.experts, routed, input_.data(), hidden.data(), rows.team);
  } else {
    const ExpertWeights stacks{weights.experts.gate.view(), weights.experts.up.view(),
                               weights.experts.down.view(), moe.num_experts};
    grouped_experts(stacks, routed, input_.data(), hidden.data(), rows.team);
  }
  if (moe.shared_experts == 0 || tokens == 0) return;
  dense(weights.shared, rows, input_, shared_);
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] += shared_[i];
}

}  // namespace servetwin
