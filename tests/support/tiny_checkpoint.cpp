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
  // Of a vector `rows` is its length and `columns` 0.
  void add(const std::string& name, std::int64_t rows, std::int64_t columns, const Weights& values) {
    const std::size_t begin = data_.size();
    const std::size_t size = values.size() * sizeof(float);
    data_.resize(begin + size);
    std::memcpy(data_.data() + begin, values.data(), size);
    const Json shape = columns == 0 ? Json::array({rows}) : Json::array({rows, columns});
    header_[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, begin + size}}};
  }

  std::string bytes() const {
    const std::string header = header_.dump();
    const std::uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + header + data_;
  }

 private:
  Json header_ = Json::object();
  std::string data_;
};

void add_layer(const ModelSpec& spec,
               const LlamaLayer& layer,
               const std::string& prefix,
               SafetensorsWriter& out) {
  const std::int64_t width = spec.heads * spec.head_dim;
  const std::int64_t kv_width = spec.kv_heads * spec.head_dim;
  out.add(prefix + "input_layernorm.weight", spec.hidden, 0, layer.input_norm);
  out.add(prefix + "self_attn.q_proj.weight", width, spec.hidden, layer.query);
  out.add(prefix + "self_attn.k_proj.weight", kv_width, spec.hidden, layer.key);
  out.add(prefix + "self_attn.v_proj.weight", kv_width, spec.hidden, layer.value);
  if (spec.qkv_bias) {
    out.add(prefix + "self_attn.q_proj.bias", width, 0, layer.query_bias);
    out.add(prefix + "self_attn.k_proj.bias", kv_width, 0, layer.key_bias);
    out.add(prefix + "self_attn.v_proj.bias", kv_width, 0, layer.value_bias);
  }
  out.add(prefix + "self_attn.o_proj.weight", spec.hidden, width, layer.output);
  out.add(prefix + "post_attention_layernorm.weight", spec.hidden, 0, layer.post_norm);
  out.add(prefix + "mlp.gate_proj.weight", spec.intermediate, spec.hidden, layer.gate);
  out.add(prefix + "mlp.up_proj.weight", spec.intermediate, spec.hidden, layer.up);
  out.add(prefix + "mlp.down_proj.weight", spec.hidden, spec.intermediate, layer.down);
}

std::string safetensors_of(const ModelSpec& spec, const LlamaWeights& weights) {
  SafetensorsWriter out;
  out.add("model.embed_tokens.weight", spec.vocab, spec.hidden, weights.embedding);
  out.add("model.norm.weight", spec.hidden, 0, weights.final_norm);
  if (!spec.tied_embeddings) out.add("lm_head.weight", spec.vocab, spec.hidden, weights.head);
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
