// Fills the runner's weights by the names of each family, and accounts for every tensor of the checkpoint.
#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "engine/models/checkpoints/model_error.h"
#include "engine/models/checkpoints/weight_source.h"
#include "engine/models/computable.h"

namespace servetwin {
namespace {

class WeightLoader {
 public:
  explicit WeightLoader(const WeightSource& source) : source_(source), spec_(source.spec()) {}

  ModelWeights load() {
    const std::string reason = why_not_computed(spec_);
    if (!reason.empty()) refuse("", reason);
    ModelWeights weights;
    weights.embedding = take("model.embed_tokens.weight", spec_.vocab, spec_.hidden);
    weights.final_norm = norm("model.norm.weight", spec_.hidden);
    if (!spec_.tied_embeddings) weights.head = take("lm_head.weight", spec_.vocab, spec_.hidden);
    for (std::int64_t index = 0; index < spec_.layers; ++index) weights.layers.push_back(layer(index));
    check_all_used();
    source_.checkpoint().check_unchanged();
    return weights;
  }

 private:
  [[noreturn]] void refuse(const std::string& tensor, const std::string& reason) const {
    fail_model(source_.checkpoint().first_file(), tensor, {kModelFamily, reason, kComputedFamilies});
  }

  bool is_family(const char* beginning) const { return spec_.arch.rfind(beginning, 0) == 0; }

  LayerWeights layer(std::int64_t index) {
    prefix_ = "model.layers." + std::to_string(index) + '.';
    LayerWeights weights;
    weights.attention_norm = norm(prefix_ + "input_layernorm.weight", spec_.hidden);
    const std::string after_attention = prefix_ + "post_attention_layernorm.weight";
    if (spec_.sandwich_norms) {
      weights.post_attention_norm = norm(after_attention, spec_.hidden);
      weights.feed_forward_norm = norm(prefix_ + "pre_feedforward_layernorm.weight", spec_.hidden);
      weights.post_feed_forward_norm = norm(prefix_ + "post_feedforward_layernorm.weight", spec_.hidden);
    } else {
      weights.feed_forward_norm = norm(after_attention, spec_.hidden);
    }
    if (spec_.is_mla()) {
      latent_attention(weights);
    } else {
      attention(weights);
    }
    if (layer_spec(spec_, index).has_experts) {
      experts(weights);
    } else {
      weights.dense = dense(prefix_ + "mlp.", spec_.intermediate);
    }
    return weights;
  }

  void attention(LayerWeights& weights) {
    const std::string attention = prefix_ + "self_attn.";
    const std::int64_t width = spec_.heads * spec_.head_dim;
    const std::int64_t kv_width = spec_.kv_heads * spec_.head_dim;
    weights.output = take(attention + "o_proj.weight", spec_.hidden, width);
    if (is_fused()) {
      const StoredMatrix fused = take(attention + "qkv_proj.weight", width + 2 * kv_width, spec_.hidden);
      weights.query = owned(rows_of(fused, 0, width));
      weights.key = owned(rows_of(fused, width, kv_width));
      weights.value = owned(rows_of(fused, width + kv_width, kv_width));
      return;
    }
    weights.query = take(attention + "q_proj.weight", width, spec_.hidden);
    weights.key = take(attention + "k_proj.weight", kv_width, spec_.hidden);
    weights.value = take(attention + "v_proj.weight", kv_width, spec_.hidden);
    if (spec_.qkv_bias) {
      weights.query_bias = take(attention + "q_proj.bias", width);
      weights.key_bias = take(attention + "k_proj.bias", kv_width);
      weights.value_bias = take(attention + "v_proj.bias", kv_width);
    }
    if (!spec_.qk_norm) return;
    weights.query_norm = norm(attention + "q_norm.weight", spec_.head_dim);
    weights.key_norm = norm(attention + "k_norm.weight", spec_.head_dim);
  }

  void latent_attention(LayerWeights& weights) {
    const std::string attention = prefix_ + "self_attn.";
    const MlaSpec& mla = spec_.mla;
    LatentWeights& latent = weights.latent;
    const std::int64_t width = spec_.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    if (mla.q_lora_rank > 0) {
      latent.query_down = take(attention + "q_a_proj.weight", mla.q_lora_rank, spec_.hidden);
      latent.query_norm = take(attention + "q_a_layernorm.weight", mla.q_lora_rank);
      weights.query = take(attention + "q_b_proj.weight", width, mla.q_lora_rank);
    } else {
      weights.query = take(attention + "q_proj.weight", width, spec_.hidden);
    }
    const std::int64_t rank = mla.kv_lora_rank;
    latent.key_down =
        take(attention + "kv_a_proj_with_mqa.weight", rank + mla.qk_rope_head_dim, spec_.hidden);
    latent.key_norm = take(attention + "kv_a_layernorm.weight", rank);
    latent.key_up =
        take(attention + "kv_b_proj.weight", spec_.heads * (mla.qk_nope_head_dim + mla.v_head_dim), rank);
    latent.absorbed = absorbed_keys(spec_, latent.key_up);
    weights.output = take(attention + "o_proj.weight", spec_.hidden, spec_.heads * mla.v_head_dim);
  }

  // Queries, keys and values in one matrix, gates above ups in another.
  bool is_fused() const { return is_family("Phi3"); }

  DenseWeights dense(const std::string& part, std::int64_t width) {
    DenseWeights weights;
    weights.down = take(part + "down_proj.weight", spec_.hidden, width);
    if (is_fused()) {
      const StoredMatrix fused = take(part + "gate_up_proj.weight", 2 * width, spec_.hidden);
      weights.gate = owned(rows_of(fused, 0, width));
      weights.up = owned(rows_of(fused, width, width));
      return weights;
    }
    weights.gate = take(part + "gate_proj.weight", width, spec_.hidden);
    weights.up = take(part + "up_proj.weight", width, spec_.hidden);
    return weights;
  }

  void experts(LayerWeights& weights) {
    const std::int64_t width = spec_.moe.intermediate;
    weights.router = take(experts_part() + "gate.weight", spec_.moe.num_experts, spec_.hidden);
    weights.experts.gate = stack("gate_proj", width, spec_.hidden);
    weights.experts.up = stack("up_proj", width, spec_.hidden);
    weights.experts.down = stack("down_proj", spec_.hidden, width);
    if (spec_.moe.sigmoid) {
      weights.router_correction =
          take(experts_part() + "gate.e_score_correction_bias", spec_.moe.num_experts);
    }
    if (spec_.moe.shared_experts > 0) {
      weights.shared = dense(experts_part() + "shared_experts.", spec_.moe.shared_experts * width);
    }
  }

  std::string experts_part() const { return prefix_ + (is_family("Mixtral") ? "block_sparse_moe." : "mlp."); }

  // Of one expert; Mixtral numbers its matrices.
  std::string expert_name(std::int64_t expert, std::string matrix) const {
    if (is_family("Mixtral")) matrix = matrix == "gate_proj" ? "w1" : matrix == "up_proj" ? "w3" : "w2";
    return experts_part() + "experts." + std::to_string(expert) + '.' + matrix + ".weight";
  }

  // One matrix of every expert, one below the other. GGUF has them so, Hugging Face one by one.
  StoredMatrix stack(const std::string& matrix, std::int64_t rows, std::int64_t columns) {
    const std::int64_t count = spec_.moe.num_experts;
    if (source_.metadata() != nullptr) {
      const std::string name = prefix_ + "mlp.experts." + matrix + ".weight";
      used_.insert(source_.stored_name(name));
      return source_.load_matrix(name, {count, rows, columns});
    }
    std::vector<StoredMatrix> experts;
    for (std::int64_t expert = 0; expert < count; ++expert) {
      const std::string name = expert_name(expert, matrix);
      experts.push_back(take(name, rows, columns));
      if (experts.back().dtype != experts.front().dtype)
        refuse(name, "is in another format than the experts before it");
    }
    return stacked(experts);
  }

  Weights take(const std::string& name, std::int64_t size) {
    used_.insert(source_.stored_name(name));
    return source_.load(name, {size});
  }
  StoredMatrix take(const std::string& name, std::int64_t rows, std::int64_t columns) {
    used_.insert(source_.stored_name(name));
    return source_.load_matrix(name, {rows, columns});
  }

  // Converters to GGUF add the one that Hugging Face's code adds.
  Weights norm(const std::string& name, std::int64_t size) {
    Weights weights = take(name, size);
    if (!spec_.norm_plus_one || source_.metadata() != nullptr) return weights;
    for (float& weight : weights) weight += 1.0F;
    return weights;
  }

  // A tensor that nothing reads is a part of the model that would be left out.
  void check_all_used() const {
    for (const TensorInfo& tensor : source_.checkpoint().tensors()) {
      const bool is_used = used_.count(tensor.name) != 0;
      const bool is_derived =
          tensor.name.ends_with(".rotary_emb.inv_freq") || tensor.name == "rope_freqs.weight";
      const bool is_tied_head = spec_.tied_embeddings && tensor.name == "lm_head.weight";
      if (is_used || is_derived || is_tied_head) continue;
      fail_model(source_.checkpoint().file_of(tensor), tensor.name,
                 {kModelFamily, "is no tensor of a " + spec_.arch + " as this program computes it",
                  "models without adapters or quantisation scales are supported"});
    }
  }

  const WeightSource& source_;
  const ModelSpec& spec_;
  std::string prefix_;  // of the layer under way
  std::set<std::string> used_;
};

}  // namespace

ModelWeights load_weights(const WeightSource& source) { return WeightLoader(source).load(); }

}  // namespace servetwin
