// Pairs of names: what stands outside the layers, and what stands in each.
#include "engine/models/checkpoints/tensor_names.h"

#include <array>
#include <string_view>

namespace servetwin {
namespace {

struct NamePair {
  std::string_view hugging_face;
  std::string_view gguf;
};

constexpr std::array kWhole = {
    NamePair{"model.embed_tokens.weight", "token_embd.weight"},
    NamePair{"model.norm.weight", "output_norm.weight"},
    NamePair{"lm_head.weight", "output.weight"},
};

constexpr std::array kInLayer = {
    NamePair{"input_layernorm.weight", "attn_norm.weight"},
    NamePair{"self_attn.q_proj.weight", "attn_q.weight"},
    NamePair{"self_attn.k_proj.weight", "attn_k.weight"},
    NamePair{"self_attn.v_proj.weight", "attn_v.weight"},
    NamePair{"self_attn.q_proj.bias", "attn_q.bias"},
    NamePair{"self_attn.k_proj.bias", "attn_k.bias"},
    NamePair{"self_attn.v_proj.bias", "attn_v.bias"},
    NamePair{"self_attn.q_norm.weight", "attn_q_norm.weight"},
    NamePair{"self_attn.k_norm.weight", "attn_k_norm.weight"},
    NamePair{"self_attn.o_proj.weight", "attn_output.weight"},
    NamePair{"post_attention_layernorm.weight", "ffn_norm.weight"},
    NamePair{"mlp.gate_proj.weight", "ffn_gate.weight"},
    NamePair{"mlp.up_proj.weight", "ffn_up.weight"},
    NamePair{"mlp.down_proj.weight", "ffn_down.weight"},
    NamePair{"self_attn.qkv_proj.weight", "attn_qkv.weight"},
    NamePair{"mlp.gate_up_proj.weight", "ffn_up.weight"},
    NamePair{"mlp.gate.weight", "ffn_gate_inp.weight"},
    NamePair{"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
    NamePair{"mlp.experts.gate_proj.weight", "ffn_gate_exps.weight"},
    NamePair{"mlp.experts.up_proj.weight", "ffn_up_exps.weight"},
    NamePair{"mlp.experts.down_proj.weight", "ffn_down_exps.weight"},
};

// Where a layer has four norms, two names mean others than above.
constexpr std::array kSandwich = {
    NamePair{"post_attention_layernorm.weight", "post_attention_norm.weight"},
    NamePair{"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    NamePair{"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
};

template <class Pairs>
std::string_view found_in(const Pairs& pairs, std::string_view name) {
  for (const NamePair& pair : pairs) {
    if (pair.hugging_face == name) return pair.gguf;
  }
  return "";
}

constexpr std::string_view kLayers = "model.layers.";

}  // namespace

std::string gguf_tensor_name(const std::string& hugging_face_name, const ModelSpec& model) {
  const std::string_view name = hugging_face_name;
  if (!name.starts_with(kLayers)) return std::string(found_in(kWhole, name));
  const std::string_view rest = name.substr(kLayers.size());
  const std::size_t digits = rest.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || rest[digits] != '.') return "";
  const std::string_view in_layer = rest.substr(digits + 1);
  std::string_view found = model.sandwich_norms ? found_in(kSandwich, in_layer) : "";
  if (found.empty()) found = found_in(kInLayer, in_layer);
  return found.empty() ? "" : "blk." + std::string(rest.substr(0, digits + 1)) + std::string(found);
}

std::optional<RotatedRows> gguf_row_order(const std::string& gguf_architecture,
                                          const std::string& hugging_face_name,
                                          const ModelSpec& model) {
  const bool is_rotated = hugging_face_name.find(".q_proj.") != std::string::npos ||
                          hugging_face_name.find(".k_proj.") != std::string::npos;
  if (gguf_architecture != "llama" || !is_rotated) return std::nullopt;
  return RotatedRows{model.head_dim};
}

}  // namespace servetwin
