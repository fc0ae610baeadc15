// The layers in their published order; each kernel is in kernels/.
#include "engine/live/transformer_model.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/models/computable.h"
#include "kernels/activation/soft_cap.h"

namespace servetwin {

TransformerModel::TransformerModel(const ModelSpec& spec,
                                   const ModelWeights& weights,
                                   Tokens longest,
                                   int threads,
                                   const std::vector<int>& cpus,
                                   Communicator* group,
                                   const SplitLayout& layout)
    : spec_(spec),
      weights_(weights),
      ranks_(spec, group, layout.sequence_parallel),
      attention_(spec_, longest),
      latent_attention_(spec_, longest),
      feed_forward_(spec_, layout.expert_parallel ? group : nullptr),
      team_(threads, cpus) {
  const std::string reason = why_not_computed(spec);
  CHECK_INVARIANT(reason.empty(), reason);
}

const float* TransformerModel::forward(const StepBatch& batch,
                                       const std::vector<TokenId>& tokens,
                                       KvPool& cache) {
  start(batch, tokens);
  StepContext step{batch, positions_, team_};
  for (std::int64_t index = 0; index < spec_.layers; ++index) {
    step.group = cache.group_of(index);
    run_layer(index, step, cache.layer(index));
  }
  add_and_normalise(weights_.final_norm);
  ranks_.spread(hidden_);
  return logits(batch);
}

// Positions and embeddings.
void TransformerModel::start(const StepBatch& batch, const std::vector<TokenId>& tokens) {
  const std::int64_t count = batch.num_tokens();
  CHECK_INVARIANT(static_cast<std::int64_t>(tokens.size()) == count, tokens.size(), count);
  ranks_.begin(count);
  norm_ = {ranks_.own_tokens(), spec_.hidden, static_cast<float>(spec_.norm_epsilon)};
  positions_.resize(static_cast<std::size_t>(count));
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    const auto first = static_cast<std::int32_t>(batch.rows[row].context.value);
    for (std::int32_t t = batch.cu_seqlens[row]; t < batch.cu_seqlens[row + 1]; ++t) {
      positions_[static_cast<std::size_t>(t)] = first + (t - batch.cu_seqlens[row]);
    }
  }
  ranks_.embed(weights_.embedding, tokens, residual_);
  const auto scale = static_cast<float>(spec_.embedding_scale);
  for (float& value : residual_) value *= scale;
  hidden_.assign(residual_.size(), 0.0F);
}

void TransformerModel::run_layer(std::int64_t index, const StepContext& step, const PagedCache& cache) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(index)];
  const LayerSpec layer = layer_spec(spec_, index);
  add_and_normalise(weights.attention_norm);
  ranks_.spread(hidden_);
  if (spec_.is_mla()) {
    latent_attention_.run(weights, step, cache, hidden_);
  } else {
    attention_.run(weights, layer, step, cache, hidden_);
  }
  ranks_.collect(hidden_);
  if (spec_.sandwich_norms) normalise(weights.post_attention_norm);
  add_and_normalise(weights.feed_forward_norm);
  if (layer.has_experts && feed_forward_.exchanges()) {
    feed_forward_.run(weights, layer, ranks_.own_tokens(), step.team, hidden_);
  } else {
    ranks_.spread(hidden_);
    feed_forward_.run(weights, layer, step.tokens(), step.team, hidden_);
    ranks_.collect(hidden_);
  }
  if (spec_.sandwich_norms) normalise(weights.post_feed_forward_norm);
}

void TransformerModel::normalise(const Weights& weight) {
  rms_norm(norm_, hidden_.data(), weight.data(), hidden_.data());
}

void TransformerModel::add_and_normalise(const Weights& weight) {
  add_rms_norm(norm_, hidden_.data(), residual_.data(), weight.data(), hidden_.data());
}

const float* TransformerModel::logits(const StepBatch& batch) {
  last_.clear();
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    if (!batch.rows[row].sampled) continue;
    const auto from = hidden_.begin() + (batch.cu_seqlens[row + 1] - 1) * spec_.hidden;
    last_.insert(last_.end(), from, from + spec_.hidden);
  }
  const std::int64_t sampled = static_cast<std::int64_t>(last_.size()) / spec_.hidden;
  const Product head = product(weights_.output_head(), sampled, logits_);
  if (sampled > 0) matmul(head, sampled, last_.data(), team_);
  const auto cap = static_cast<float>(spec_.logit_soft_cap);
  if (cap > 0) soft_cap(logits_.data(), cap, static_cast<std::int64_t>(logits_.size()));
  return ranks_.gather_logits(logits_, sampled);
}

}  // namespace servetwin
