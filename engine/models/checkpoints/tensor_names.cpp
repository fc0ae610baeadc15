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
};

constexpr std::string_view kLayers = "model.layers.";

}  // namespace

std::string gguf_tensor_name(const std::string& hugging_face_name) {
  const std::string_view name = hugging_face_name;
  for (const NamePair& pair : kWhole) {
    if (name == pair.hugging_face) return std::string(pair.gguf);
  }
  if (!name.starts_with(kLayers)) return "";
  const std::string_view rest = name.substr(kLayers.size());
  const std::size_t digits = rest.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || rest[digits] != '.') return "";
  for (const NamePair& pair : kInLayer) {
    if (rest.substr(digits + 1) != pair.hugging_face) continue;
    return "blk." + std::string(rest.substr(0, digits + 1)) + std::string(pair.gguf);
  }
  return "";
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
