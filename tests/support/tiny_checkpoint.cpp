// Tensors one after the other, each under its Hugging Face name.
#include "tests/support/tiny_checkpoint.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

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

void add_layer(const ModelSpec& spec,
               const LlamaLayer& layer,
               const std::string& prefix,
               SafetensorsWriter& out) {
  out.add(prefix + "input_layernorm.weight", layer.input_norm);
  out.add(prefix + "self_attn.q_proj.weight", layer.query);
  out.add(prefix + "self_attn.k_proj.weight", layer.key);
  out.add(prefix + "self_attn.v_proj.weight", layer.value);
  if (spec.qkv_bias) {
    out.add(prefix + "self_attn.q_proj.bias", layer.query_bias);
    out.add(prefix + "self_attn.k_proj.bias", layer.key_bias);
    out.add(prefix + "self_attn.v_proj.bias", layer.value_bias);
  }
  out.add(prefix + "self_attn.o_proj.weight", layer.output);
  out.add(prefix + "post_attention_layernorm.weight", layer.post_norm);
  out.add(prefix + "mlp.gate_proj.weight", layer.gate);
  out.add(prefix + "mlp.up_proj.weight", layer.up);
  out.add(prefix + "mlp.down_proj.weight", layer.down);
}

std::string safetensors_of(const ModelSpec& spec, const LlamaWeights& weights) {
  SafetensorsWriter out;
  out.add("model.embed_tokens.weight", weights.embedding);
  out.add("model.norm.weight", weights.final_norm);
  if (!spec.tied_embeddings) out.add("lm_head.weight", weights.head);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    add_layer(spec, weights.layers[i], "model.layers." + std::to_string(i) + '.', out);
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

TinyCheckpoint::TinyCheckpoint(const std::string& name, const ModelSpec& spec, const LlamaWeights& weights)
    : path_(std::filesystem::temp_directory_path() /
            ("servetwin_" + name + '_' + std::to_string(::getpid()))) {
  std::filesystem::create_directories(path_);
  write("config.json", config_of(spec));
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
