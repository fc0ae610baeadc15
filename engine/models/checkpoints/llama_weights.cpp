// Fills the runner's weights of a Llama or Qwen2 model, and accounts for every tensor of the checkpoint.
#include <set>
#include <string>
#include <utility>

#include "engine/models/checkpoints/model_error.h"
#include "engine/models/checkpoints/weight_source.h"

namespace servetwin {
namespace {

class LlamaLoader {
 public:
  explicit LlamaLoader(const WeightSource& source) : source_(source), spec_(source.spec()) {}

  LlamaWeights load() {
    const std::string reason = why_not_llama(spec_);
    if (!reason.empty()) {
      fail_model(source_.checkpoint().first_file(), "",
                 {kModelFamily, reason, "Llama and Qwen2 models are supported"});
    }
    LlamaWeights weights;
    weights.embedding = take("model.embed_tokens.weight", spec_.vocab, spec_.hidden);
    weights.final_norm = take("model.norm.weight", spec_.hidden);
    if (!spec_.tied_embeddings) weights.head = take("lm_head.weight", spec_.vocab, spec_.hidden);
    for (std::int64_t index = 0; index < spec_.layers; ++index) weights.layers.push_back(layer(index));
    check_all_used();
    source_.checkpoint().check_unchanged();
    return weights;
  }

 private:
  LlamaLayer layer(std::int64_t index) {
    const std::string prefix = "model.layers." + std::to_string(index) + '.';
    const std::string attention = prefix + "self_attn.";
    const std::string mlp = prefix + "mlp.";
    const std::int64_t hidden = spec_.hidden;
    const std::int64_t width = spec_.heads * spec_.head_dim;
    const std::int64_t kv_width = spec_.kv_heads * spec_.head_dim;
    LlamaLayer layer;
    layer.input_norm = take(prefix + "input_layernorm.weight", hidden);
    layer.query = take(attention + "q_proj.weight", width, hidden);
    layer.key = take(attention + "k_proj.weight", kv_width, hidden);
    layer.value = take(attention + "v_proj.weight", kv_width, hidden);
    if (spec_.qkv_bias) {
      layer.query_bias = take(attention + "q_proj.bias", width);
      layer.key_bias = take(attention + "k_proj.bias", kv_width);
      layer.value_bias = take(attention + "v_proj.bias", kv_width);
    }
    layer.output = take(attention + "o_proj.weight", hidden, width);
    layer.post_norm = take(prefix + "post_attention_layernorm.weight", hidden);
    layer.gate = take(mlp + "gate_proj.weight", spec_.intermediate, hidden);
    layer.up = take(mlp + "up_proj.weight", spec_.intermediate, hidden);
    layer.down = take(mlp + "down_proj.weight", hidden, spec_.intermediate);
    return layer;
  }

  Weights take(const std::string& name, std::int64_t size) {
    used_.insert(source_.stored_name(name));
    return source_.load(name, {size});
  }
  StoredMatrix take(const std::string& name, std::int64_t rows, std::int64_t columns) {
    used_.insert(source_.stored_name(name));
    return source_.load_matrix(name, {rows, columns});
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
                  "Llama and Qwen2 models without adapters or quantisation scales are supported"});
    }
  }

  const WeightSource& source_;
  const ModelSpec& spec_;
  std::set<std::string> used_;
};

}  // namespace

LlamaWeights load_llama_weights(const WeightSource& source) { return LlamaLoader(source).load(); }

}  // namespace servetwin
