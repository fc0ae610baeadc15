// Elements of matrices times two, pairs times the lengths of key and value.
#include "engine/live/forward_flops.h"

#include <algorithm>

namespace servetwin {
namespace {

std::int64_t elements_of(const StoredMatrix& matrix) { return matrix.rows * matrix.columns; }

std::int64_t elements_of(const DenseWeights& weights) {
  return elements_of(weights.gate) + elements_of(weights.up) + elements_of(weights.down);
}

// Latent attention in its absorbed form takes the keys' part of key_up to the queries and its values' part to
// what they attended, so every element once.
std::int64_t attention_elements(const LayerWeights& weights) {
  const LatentWeights& latent = weights.latent;
  return elements_of(weights.query) + elements_of(weights.key) + elements_of(weights.value) +
         elements_of(weights.output) + elements_of(latent.query_down) + elements_of(latent.key_down) +
         elements_of(latent.key_up);
}

// `spec` is the rank's.
std::int64_t expert_elements(const ModelSpec& spec, const LayerWeights& weights) {
  return elements_of(weights.router) + elements_of(weights.shared) +
         3 * spec.hidden * spec.moe.intermediate * spec.moe.top_k;
}

// Query i of a chunk sees the context and i + 1 keys of the chunk, but no more than the window.
std::int64_t pairs_of(std::int64_t context, std::int64_t tokens, std::int64_t window) {
  const auto unlimited = [&](std::int64_t count) { return count * context + count * (count + 1) / 2; };
  if (window == 0) return unlimited(tokens);
  const std::int64_t growing = std::clamp<std::int64_t>(window - context, 0, tokens);
  return unlimited(growing) + (tokens - growing) * window;
}

}  // namespace

ForwardFlops::ForwardFlops(const ModelSpec& model,
                           const ModelWeights& part,
                           RankPlace place,
                           const SplitLayout& layout)
    : head_(2 * elements_of(part.output_head())) {
  const ModelSpec spec = rank_spec(model, place, layout);
  pair_ = spec.is_mla() ? 2 * spec.heads * (2 * spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim)
                        : 4 * spec.heads * spec.head_dim;
  const bool counts_experts = !layout.expert_parallel || place.rank == 0;
  for (std::int64_t index = 0; index < spec.layers; ++index) {
    const LayerWeights& weights = part.layers[static_cast<std::size_t>(index)];
    const LayerSpec layer = layer_spec(spec, index);
    token_ += 2 * (attention_elements(weights) + elements_of(weights.dense));
    if (layer.has_experts && counts_experts) token_ += 2 * expert_elements(spec, weights);
    windows_.push_back(layer.window);
  }
}

std::int64_t ForwardFlops::row(std::int64_t context, std::int64_t tokens, bool sampled) const {
  std::int64_t flops = tokens * token_ + (sampled ? head_ : 0);
  for (const std::int64_t window : windows_) flops += pair_ * pairs_of(context, tokens, window);
  return flops;
}

std::int64_t ForwardFlops::with_cache(const std::vector<StepRow>& rows) const {
  std::int64_t flops = 0;
  for (const StepRow& one : rows) flops += row(one.context.value, one.tokens.value, one.sampled);
  return flops;
}

std::int64_t ForwardFlops::without_cache(const std::vector<StepRow>& rows) const {
  std::int64_t flops = 0;
  for (const StepRow& one : rows) flops += row(0, (one.context + one.tokens).value, one.sampled);
  return flops;
}

}  // namespace servetwin
