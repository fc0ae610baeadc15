// Multi-head latent attention of one layer, in its absorbed form: all heads read one cached vector a token.
#pragma once

#include <vector>

#include "engine/live/rotary_tables.h"
#include "engine/live/step_context.h"
#include "kernels/attention/paged_attention.h"

namespace servetwin {

// The cache holds the normalised latent and the rotated key of all heads, one after the other. A query is
// taken through the matrix that would give its keys, so that scores are dot products with the latent; what is
// attended is taken through the matrix of the values.
class LatentAttentionPart {
 public:
  LatentAttentionPart(const ModelSpec& spec, Tokens longest);

  // Replaces `hidden`, [tokens][hidden].
  void run(const LayerWeights& weights,
           const StepContext& step,
           const PagedCache& cache,
           std::vector<float>& hidden);

 private:
  void make_queries(const LayerWeights& weights, const StepContext& step, const std::vector<float>& hidden);
  void make_latents(const LatentWeights& weights, const StepContext& step, const std::vector<float>& hidden);
  void absorb(const LatentWeights& weights, const StepContext& step);
  void make_values(const LatentWeights& weights, const StepContext& step);

  const ModelSpec& spec_;
  RotaryTables rotary_;
  std::int64_t query_dim_;   // of a head: plain, then rotated elements
  std::int64_t latent_dim_;  // of a cached vector
  std::vector<float> compressed_;
  std::vector<float> queries_;   // [tokens][heads][query_dim]
  std::vector<float> latents_;   // [tokens][latent_dim]
  std::vector<float> absorbed_;  // [tokens][heads][latent_dim]
  std::vector<float> attended_;  // [tokens][heads][kv_lora_rank]
  std::vector<float> values_;    // [tokens][heads][v_head_dim]
};

}  // namespace servetwin
