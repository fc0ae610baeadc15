// Draws tensors one by one.
#include <cmath>
#include <cstddef>

#include "engine/base/rng.h"
#include "engine/models/weights.h"

namespace servetwin {
namespace {

// What Llama has is numbered from 16 (layer + 1), in the order of its layer; the rest from 2²⁰ + 32 (layer +
// 1).
constexpr std::uint64_t kCommonStride = 16;
constexpr std::uint64_t kOthers = 1U << 20U;
constexpr std::uint64_t kOthersStride = 32;

class LayerMaker {
 public:
  LayerMaker(const ModelSpec& spec, std::uint64_t seed, std::int64_t layer)
      : spec_(spec),
        layer_(layer_spec(spec, layer)),
        seed_(seed),
        common_((static_cast<std::uint64_t>(layer) + 1) * kCommonStride),
        others_(kOthers + (static_cast<std::uint64_t>(layer) + 1) * kOthersStride) {}

  LayerWeights make() const {
    LayerWeights weights;
    weights.attention_norm = norm(common_, spec_.hidden);
    weights.feed_forward_norm = norm(common_ + 8, spec_.hidden);
    if (spec_.sandwich_norms) {
      weights.post_attention_norm = norm(others_ + 2, spec_.hidden);
      weights.post_feed_forward_norm = norm(others_ + 3, spec_.hidden);
    }
    if (spec_.is_mla()) {
      make_latent_attention(weights);
    } else {
      make_attention(weights);
    }
    if (layer_.has_experts) {
      make_experts(weights);
    } else {
      weights.dense = dense(common_ + 9, spec_.intermediate, 1);
    }
    return weights;
  }

  Weights uniform(std::uint64_t tensor, std::int64_t size, double centre, double spread) const {
    Weights values(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double unit = draw_unit({seed_, Stream::kWeights, tensor}, static_cast<std::uint32_t>(i));
      values[i] = static_cast<float>(centre + (2.0 * unit - 1.0) * spread);
    }
    return values;
  }
  Weights norm(std::uint64_t tensor, std::int64_t size) const { return uniform(tensor, size, 1.0, 0.1); }
  StoredMatrix matrix(std::uint64_t tensor, std::int64_t outputs, std::int64_t inputs) const {
    return matrix(tensor, outputs, inputs, std::sqrt(3.0 / static_cast<double>(inputs)));
  }
  StoredMatrix matrix(std::uint64_t tensor, std::int64_t rows, std::int64_t columns, double spread) const {
    return f32_matrix(rows, columns, uniform(tensor, rows * columns, 0.0, spread));
  }

 private:
  void make_attention(LayerWeights& weights) const {
    const std::int64_t width = spec_.heads * spec_.head_dim;
    const std::int64_t kv_width = spec_.kv_heads * spec_.head_dim;
    weights.query = matrix(common_ + 1, width, spec_.hidden);
    weights.key = matrix(common_ + 2, kv_width, spec_.hidden);
    weights.value = matrix(common_ + 3, kv_width, spec_.hidden);
    if (spec_.qkv_bias) {
      weights.query_bias = uniform(common_ + 4, width, 0.0, 0.1);
      weights.key_bias = uniform(common_ + 5, kv_width, 0.0, 0.1);
      weights.value_bias = uniform(common_ + 6, kv_width, 0.0, 0.1);
    }
    weights.output = matrix(common_ + 7, spec_.hidden, width);
    if (!spec_.qk_norm) return;
    weights.query_norm = norm(others_, spec_.head_dim);
    weights.key_norm = norm(others_ + 1, spec_.head_dim);
  }

  void make_latent_attention(LayerWeights& weights) const {
    const MlaSpec& mla = spec_.mla;
    const std::int64_t width = spec_.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    const bool is_direct = mla.q_lora_rank == 0;
    weights.query = matrix(common_ + 1, width, is_direct ? spec_.hidden : mla.q_lora_rank);
    weights.output = matrix(common_ + 7, spec_.hidden, spec_.heads * mla.v_head_dim);
    LatentWeights& latent = weights.latent;
    if (!is_direct) {
      latent.query_down = matrix(others_ + 12, mla.q_lora_rank, spec_.hidden);
      latent.query_norm = norm(others_ + 13, mla.q_lora_rank);
    }
    latent.key_down = matrix(others_ + 14, mla.kv_lora_rank + mla.qk_rope_head_dim, spec_.hidden);
    latent.key_norm = norm(others_ + 15, mla.kv_lora_rank);
    latent.key_up =
        matrix(others_ + 16, spec_.heads * (mla.qk_nope_head_dim + mla.v_head_dim), mla.kv_lora_rank);
    latent.absorbed = absorbed_keys(spec_, latent.key_up);
  }

  void make_experts(LayerWeights& weights) const {
    const MoeSpec& moe = spec_.moe;
    weights.router = matrix(others_ + 4, moe.num_experts, spec_.hidden);
    if (moe.sigmoid) weights.router_correction = uniform(others_ + 5, moe.num_experts, 0.0, 0.1);
    weights.experts = dense(others_ + 6, moe.intermediate, moe.num_experts);
    if (moe.shared_experts > 0) weights.shared = dense(others_ + 9, moe.shared_experts * moe.intermediate, 1);
  }

  // Of `copies` experts, one below the other.
  DenseWeights dense(std::uint64_t tensor, std::int64_t width, std::int64_t copies) const {
    return {matrix(tensor, copies * width, spec_.hidden), matrix(tensor + 1, copies * width, spec_.hidden),
            matrix(tensor + 2, copies * spec_.hidden, width)};
  }

  const ModelSpec& spec_;
  LayerSpec layer_;
  std::uint64_t seed_;
  std::uint64_t common_;
  std::uint64_t others_;
};

}  // namespace

ModelWeights random_weights(const ModelSpec& spec, std::uint64_t seed) {
  ModelWeights weights;
  const LayerMaker whole(spec, seed, 0);
  weights.embedding = whole.matrix(0, spec.vocab, spec.hidden, 1.0);
  weights.final_norm = whole.norm(1, spec.hidden);
  if (!spec.tied_embeddings) weights.head = whole.matrix(2, spec.vocab, spec.hidden);
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    weights.layers.push_back(LayerMaker(spec, seed, layer).make());
  }
  return weights;
}

}  // namespace servetwin
