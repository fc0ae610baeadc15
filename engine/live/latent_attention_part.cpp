// Queries and latents, rotary embeddings, the cache, attention among latents, values, the output projection.
#include "engine/live/latent_attention_part.h"

#include <algorithm>
#include <cmath>

#include "kernels/norm/rms_norm.h"

namespace servetwin {
namespace {

constexpr float kEpsilon = 1e-6F;  // of the two inner norms, whatever the configuration says of the others

// A head's part of each token: `count` elements from `offset`, of `width` a token.
struct HeadPart {
  std::int64_t width = 0;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

// output = part of input · weightᵀ, token by token, into a part of the output.
void multiply_part(const WeightMatrix& weight,
                   const StepContext& step,
                   HeadPart from,
                   const std::vector<float>& input,
                   HeadPart to,
                   std::vector<float>& output) {
  const std::int64_t tokens = step.tokens();
  std::vector<float> gathered;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto begin = input.begin() + t * from.width + from.offset;
    gathered.insert(gathered.end(), begin, begin + from.count);
  }
  std::vector<float> products(elements(tokens, to.count));
  matmul(Product{weight, nullptr, products.data()}, tokens, gathered.data(), step.team);
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::copy_n(products.begin() + t * to.count, to.count, output.begin() + t * to.width + to.offset);
  }
}

}  // namespace

LatentAttentionPart::LatentAttentionPart(const ModelSpec& spec, Tokens longest)
    : spec_(spec),
      rotary_(spec, longest),
      query_dim_(spec.mla.qk_nope_head_dim + spec.mla.qk_rope_head_dim),
      latent_dim_(spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim) {}

void LatentAttentionPart::run(const LayerWeights& weights,
                              const StepContext& step,
                              const PagedCache& cache,
                              std::vector<float>& hidden) {
  make_queries(weights, step, hidden);
  make_latents(weights.latent, step, hidden);
  store_keys_values(cache, latents_.data(), latents_.data(), step.blocks().slots.data(), step.tokens());
  absorb(weights.latent, step);
  AttentionOptions options;
  options.heads = spec_.heads;
  options.scale = spec_.attention_scale > 0 ? static_cast<float>(spec_.attention_scale)
                                            : 1.0F / std::sqrt(static_cast<float>(query_dim_));
  options.value_dim = spec_.mla.kv_lora_rank;
  attended_.resize(elements(step.tokens(), spec_.heads * spec_.mla.kv_lora_rank));
  paged_attention(cache, ragged_rows(step), options, absorbed_.data(), attended_.data(), step.team);
  make_values(weights.latent, step);
  matmul(product(weights.output, step.tokens(), hidden), step.tokens(), values_.data(), step.team);
}

void LatentAttentionPart::make_queries(const LayerWeights& weights,
                                       const StepContext& step,
                                       const std::vector<float>& hidden) {
  const std::int64_t tokens = step.tokens();
  const std::vector<float>* input = &hidden;
  if (!weights.latent.query_down.empty()) {
    matmul(product(weights.latent.query_down, tokens, compressed_), tokens, hidden.data(), step.team);
    rms_norm({tokens, spec_.mla.q_lora_rank, kEpsilon}, compressed_.data(), weights.latent.query_norm.data(),
             compressed_.data());
    input = &compressed_;
  }
  matmul(product(weights.query, tokens, queries_), tokens, input->data(), step.team);
  rotary(rotary_.global(), RotaryLayout::kInterleaved, step.positions.data(), tokens,
         RotatedHeads{queries_.data() + spec_.mla.qk_nope_head_dim, spec_.heads, query_dim_});
}

void LatentAttentionPart::make_latents(const LatentWeights& weights,
                                       const StepContext& step,
                                       const std::vector<float>& hidden) {
  const std::int64_t tokens = step.tokens();
  const std::int64_t rank = spec_.mla.kv_lora_rank;
  matmul(product(weights.key_down, tokens, latents_), tokens, hidden.data(), step.team);
  for (std::int64_t t = 0; t < tokens; ++t) {
    float* latent = latents_.data() + t * latent_dim_;
    rms_norm({1, rank, kEpsilon}, latent, weights.key_norm.data(), latent);
  }
  rotary(rotary_.global(), RotaryLayout::kInterleaved, step.positions.data(), tokens,
         RotatedHeads{latents_.data() + rank, 1, latent_dim_});
}

void LatentAttentionPart::absorb(const LatentWeights& weights, const StepContext& step) {
  const MlaSpec& mla = spec_.mla;
  absorbed_.resize(elements(step.tokens(), spec_.heads * latent_dim_));
  for (std::int64_t head = 0; head < spec_.heads; ++head) {
    multiply_part(weights.absorbed.view().slice(head * mla.kv_lora_rank, mla.kv_lora_rank), step,
                  {spec_.heads * query_dim_, head * query_dim_, mla.qk_nope_head_dim}, queries_,
                  {spec_.heads * latent_dim_, head * latent_dim_, mla.kv_lora_rank}, absorbed_);
  }
  for (std::int64_t i = 0; i < step.tokens() * spec_.heads; ++i) {
    std::copy_n(queries_.begin() + i * query_dim_ + mla.qk_nope_head_dim, mla.qk_rope_head_dim,
                absorbed_.begin() + i * latent_dim_ + mla.kv_lora_rank);
  }
}

void LatentAttentionPart::make_values(const LatentWeights& weights, const StepContext& step) {
  const MlaSpec& mla = spec_.mla;
  const std::int64_t rows = mla.qk_nope_head_dim + mla.v_head_dim;
  values_.resize(elements(step.tokens(), spec_.heads * mla.v_head_dim));
  for (std::int64_t head = 0; head < spec_.heads; ++head) {
    multiply_part(weights.key_up.view().slice(head * rows + mla.qk_nope_head_dim, mla.v_head_dim), step,
                  {spec_.heads * mla.kv_lora_rank, head * mla.kv_lora_rank, mla.kv_lora_rank}, attended_,
                  {spec_.heads * mla.v_head_dim, head * mla.v_head_dim, mla.v_head_dim}, values_);
  }
}

}  // namespace servetwin
