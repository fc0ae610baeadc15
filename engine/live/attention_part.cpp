// Projections, norms of heads, rotary embeddings, the cache, attention, the output projection.
#include "engine/live/attention_part.h"

#include "kernels/norm/rms_norm.h"

namespace servetwin {

void AttentionPart::run(const LayerWeights& weights,
                        const LayerSpec& layer,
                        const StepContext& step,
                        const PagedCache& cache,
                        std::vector<float>& hidden) {
  project(weights, step, hidden);
  turn(layer, step);
  store_keys_values(cache, keys_.data(), values_.data(), step.blocks().slots.data(), step.tokens());
  const AttentionOptions options{spec_.heads, static_cast<float>(spec_.attention_scale),
                                 static_cast<float>(spec_.attention_soft_cap), layer.window};
  attended_.resize(queries_.size());
  paged_attention(cache, ragged_rows(step), options, queries_.data(), attended_.data(), step.team);
  matmul(product(weights.output, step.tokens(), hidden), step.tokens(), attended_.data(), step.team);
}

void AttentionPart::project(const LayerWeights& weights,
                            const StepContext& step,
                            const std::vector<float>& hidden) {
  const std::int64_t tokens = step.tokens();
  const Product products[] = {product(weights.query, weights.query_bias, tokens, queries_),
                              product(weights.key, weights.key_bias, tokens, keys_),
                              product(weights.value, weights.value_bias, tokens, values_)};
  matmul(products, tokens, hidden.data(), step.team);
  if (!spec_.qk_norm) return;
  const auto epsilon = static_cast<float>(spec_.norm_epsilon);
  rms_norm({tokens * spec_.heads, spec_.head_dim, epsilon}, queries_.data(), weights.query_norm.data(),
           queries_.data());
  rms_norm({tokens * spec_.kv_heads, spec_.head_dim, epsilon}, keys_.data(), weights.key_norm.data(),
           keys_.data());
}

void AttentionPart::turn(const LayerSpec& layer, const StepContext& step) {
  const RotaryFrequencies& speeds = layer.is_local ? rotary_.local() : rotary_.global();
  const std::int32_t* positions = step.positions.data();
  rotary(speeds, RotaryLayout::kNeox, positions, step.tokens(),
         RotatedHeads{queries_.data(), spec_.heads, spec_.head_dim});
  rotary(speeds, RotaryLayout::kNeox, positions, step.tokens(),
         RotatedHeads{keys_.data(), spec_.kv_heads, spec_.head_dim});
}

}  // namespace servetwin
