// Tensors one after the other, each under its Hugging Face name.
#include "tests/support/tiny_checkpoint.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

class SafetensorsWriter {
 public:
  void add(const std::string& name, const Weights& values) {
    append(name, Json::array({values.size()}), values.data(), values.size() * sizeof(float));
  }
  void add(const std::string& name, const StoredMatrix& matrix) {
    append(name, Json::array({matrix.rows, matrix.columns}), matrix.bytes.data(), matrix.bytes.size());
  }

  std::string bytes() const {
    const std::string header = header_.dump();
    const std::uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + header + data_;
  }

 private:
  void append(const std::string& name, const Json& shape, const void* values, std::size_t size) {
    const std::size_t begin = data_.size();
    data_.resize(begin + size);
    std::memcpy(data_.data() + begin, values, size);
    header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, begin + size}}};
  }

  Json header_ = Json::object();
  std::string data_;
};

// Rows of both, one below the other.
StoredMatrix above(const StoredMatrix& upper, const StoredMatrix& lower) { return stacked({upper, lower}); }

// One layer under the names of the model's family.
class LayerWriter {
 public:
  LayerWriter(const ModelSpec& spec, const LayerWeights& layer, std::string prefix, SafetensorsWriter& out)
      : spec_(spec), layer_(layer), prefix_(std::move(prefix)), out_(out) {}

  void write() {
    norm("input_layernorm.weight", layer_.attention_norm);
    if (spec_.sandwich_norms) {
      norm("post_attention_layernorm.weight", layer_.post_attention_norm);
      norm("pre_feedforward_layernorm.weight", layer_.feed_forward_norm);
      norm("post_feedforward_layernorm.weight", layer_.post_feed_forward_norm);
    } else {
      norm("post_attention_layernorm.weight", layer_.feed_forward_norm);
    }
    if (spec_.is_mla()) {
      write_latent_attention();
    } else {
      write_attention();
    }
    if (layer_.router.empty()) {
      write_dense("mlp.", layer_.dense);
    } else {
      write_experts();
    }
  }

 private:
  bool is_family(const char* beginning) const { return spec_.arch.rfind(beginning, 0) == 0; }

  void norm(const std::string& name, Weights values) {
    for (float& value : values) value -= spec_.norm_plus_one ? 1.0F : 0.0F;
    add(name, values);
  }
  template <class Values>
  void add(const std::string& name, const Values& values) {
    out_.add(prefix_ + name, values);
  }

  void write_attention() {
    add("self_attn.o_proj.weight", layer_.output);
    if (is_family("Phi3")) {
      add("self_attn.qkv_proj.weight", above(above(layer_.query, layer_.key), layer_.value));
      return;
    }
    add("self_attn.q_proj.weight", layer_.query);
    add("self_attn.k_proj.weight", layer_.key);
    add("self_attn.v_proj.weight", layer_.value);
    if (spec_.qkv_bias) {
      add("self_attn.q_proj.bias", layer_.query_bias);
      add("self_attn.k_proj.bias", layer_.key_bias);
      add("self_attn.v_proj.bias", layer_.value_bias);
    }
    if (!spec_.qk_norm) return;
    norm("self_attn.q_norm.weight", layer_.query_norm);
    norm("self_attn.k_norm.weight", layer_.key_norm);
  }

  void write_latent_attention() {
    const LatentWeights& latent = layer_.latent;
    const bool is_direct = latent.query_down.empty();
    add(is_direct ? "self_attn.q_proj.weight" : "self_attn.q_b_proj.weight", layer_.query);
    if (!is_direct) {
      add("self_attn.q_a_proj.weight", latent.query_down);
      add("self_attn.q_a_layernorm.weight", latent.query_norm);
    }
    add("self_attn.kv_a_proj_with_mqa.weight", latent.key_down);
    add("self_attn.kv_a_layernorm.weight", latent.key_norm);
    add("self_attn.kv_b_proj.weight", latent.key_up);
    add("self_attn.o_proj.weight", layer_.output);
  }

  void write_dense(const std::string& part, const DenseWeights& dense) {
    add(part + "down_proj.weight", dense.down);
    if (is_family("Phi3")) {
      add(part + "gate_up_proj.weight", above(dense.gate, dense.up));
      return;
    }
    add(part + "gate_proj.weight", dense.gate);
    add(part + "up_proj.weight", dense.up);
  }

  void write_experts() {
    const bool is_mixtral = is_family("Mixtral");
    const std::string part = is_mixtral ? "block_sparse_moe." : "mlp.";
    add(part + "gate.weight", layer_.router);
    if (spec_.moe.sigmoid) add(part + "gate.e_score_correction_bias", layer_.router_correction);
    if (spec_.moe.shared_experts > 0) write_dense(part + "shared_experts.", layer_.shared);
    for (std::int64_t expert = 0; expert < spec_.moe.num_experts; ++expert) {
      const std::string one = part + "experts." + std::to_string(expert) + '.';
      add(one + (is_mixtral ? "w1" : "gate_proj") + ".weight", of_expert(layer_.experts.gate, expert));
      add(one + (is_mixtral ? "w3" : "up_proj") + ".weight", of_expert(layer_.experts.up, expert));
      add(one + (is_mixtral ? "w2" : "down_proj") + ".weight", of_expert(layer_.experts.down, expert));
    }
  }

  StoredMatrix of_expert(const StoredMatrix& stack, std::int64_t expert) const {
    const std::int64_t rows = stack.rows / spec_.moe.num_experts;
    return rows_of(stack, expert * rows, rows);
  }

  const ModelSpec& spec_;
  const LayerWeights& layer_;
  std::string prefix_;
  SafetensorsWriter& out_;
};

std::string safetensors_of(const ModelSpec& spec, const ModelWeights& weights) {
  SafetensorsWriter out;
  out.add("model.embed_tokens.weight", weights.embedding);
  Weights final_norm = weights.final_norm;
  for (float& value : final_norm) value -= spec.norm_plus_one ? 1.0F : 0.0F;
  out.add("model.norm.weight", final_norm);
  if (!spec.tied_embeddings) out.add("lm_head.weight", weights.head);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    LayerWriter(spec, weights.layers[i], "model.layers." + std::to_string(i) + '.', out).write();
  }
  return out.bytes();
}

std::string config_of(const ModelSpec& spec) {
  return Json{{"architectures", {spec.arch}},
              {"model_type", spec.qkv_bias ? "qwen2" : "llama"},
              {"num_hidden_layers", spec.layers},
              {"hidden_size", spec.hidden},
              {"num_attention_heads", spec.heads},
              {"num_key_value_heads", spec.kv_heads},
              {"head_dim", spec.head_dim},
              {"intermediate_size", spec.intermediate},
              {"vocab_size", spec.vocab},
              {"max_position_embeddings", spec.max_position},
              {"tie_word_embeddings", spec.tied_embeddings},
              {"rms_norm_eps", spec.norm_epsilon},
              {"rope_theta", spec.rope.theta},
              {"torch_dtype", "float32"}}
      .dump();
}

}  // namespace

TinyCheckpoint::TinyCheckpoint(const std::string& name, const ModelSpec& spec, const ModelWeights& weights)
    : TinyCheckpoint(name, config_of(spec), spec, weights) {}

TinyCheckpoint::TinyCheckpoint(const std::string& name,
                               const std::string& config,
                               const ModelSpec& spec,
                               const ModelWeights& weights)
    : path_(std::filesystem::temp_directory_path() /
            ("servetwin_" + name + '_' + std::to_string(::getpid()))) {
  std::filesystem::create_directories(path_);
  write("config.json", config);
  write("model.safetensors", safetensors_of(spec, weights));
}

TinyCheckpoint::~TinyCheckpoint() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TinyCheckpoint::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path_ / name, std::ios::binary) << bytes;
}

}  // namespace servetwin
