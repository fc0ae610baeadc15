// Counts a model's parameters by kind: what tensor parallelism splits, what each rank repeats, what is
// quantised.
#include "engine/models/spec.h"

#include <algorithm>

namespace servetwin {
namespace {

// One layer's or a whole model's parameters.
struct Counts {
  std::int64_t split = 0;       // matrices divided among ranks, but for routed experts
  std::int64_t experts = 0;     // the same of routed experts
  std::int64_t kv = 0;          // key and value projections: divided, but never below one head
  std::int64_t replicated = 0;  // matrices each rank holds whole
  std::int64_t plain = 0;       // vectors and routers: whole on each rank, never quantised

  std::int64_t total() const { return split + experts + kv + replicated + plain; }
};

void add_attention(const ModelSpec& m, Counts& counts) {
  counts.split += 2 * m.hidden * m.heads * m.head_dim;
  counts.kv += 2 * m.hidden * m.kv_heads * m.head_dim;
  if (m.qkv_bias) counts.plain += (m.heads + 2 * m.kv_heads) * m.head_dim;
  if (m.output_bias) counts.plain += m.hidden;
  if (m.attention_sinks) counts.plain += m.heads;
  if (m.qk_norm) counts.plain += 2 * m.head_dim;
}

void add_latent_attention(const ModelSpec& m, Counts& counts) {
  const MlaSpec& mla = m.mla;
  const std::int64_t query_width = m.heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  if (mla.q_lora_rank > 0) {
    counts.replicated += m.hidden * mla.q_lora_rank;
    counts.split += mla.q_lora_rank * query_width;
    counts.plain += mla.q_lora_rank;
  } else {
    counts.split += m.hidden * query_width;
  }
  counts.replicated += m.hidden * (mla.kv_lora_rank + mla.qk_rope_head_dim);
  counts.plain += mla.kv_lora_rank;
  counts.split += mla.kv_lora_rank * m.heads * (mla.qk_nope_head_dim + mla.v_head_dim);
  counts.split += m.heads * mla.v_head_dim * m.hidden;
}

// The layers' parameters; embeddings, head and final norm are counted apart.
Counts layer_counts(const ModelSpec& m) {
  Counts one;
  if (m.is_mla()) {
    add_latent_attention(m, one);
  } else {
    add_attention(m, one);
  }
  one.plain += (m.sandwich_norms ? 4 : 2) * m.hidden;
  Counts all{one.split * m.layers, 0, one.kv * m.layers, one.replicated * m.layers, one.plain * m.layers};
  const std::int64_t dense = m.is_moe() ? m.moe.first_dense_layers : m.layers;
  const std::int64_t sparse = m.layers - dense;
  all.split += 3 * m.hidden * m.intermediate * dense;
  all.split += 3 * m.hidden * m.moe.intermediate * m.moe.shared_experts * sparse;
  all.experts += 3 * m.hidden * m.moe.intermediate * m.moe.num_experts * sparse;
  const std::int64_t biases = m.moe.biased ? 1 + 2 * m.moe.intermediate + m.hidden : 0;
  all.plain += (m.hidden + (m.moe.sigmoid ? 1 : 0) + biases) * m.moe.num_experts * sparse;
  return all;
}

std::int64_t embedding_count(const ModelSpec& m) { return m.vocab * m.hidden * (m.tied_embeddings ? 1 : 2); }

bool divides(std::int64_t divisor, std::int64_t value) { return value % divisor == 0; }

}  // namespace

// gpt-oss: windows in every other layer from the first on, a learned logit a head, biases everywhere.
void complete_family(ModelSpec& m) {
  if (m.arch != "GptOssForCausalLM") return;
  m.qkv_bias = m.output_bias = m.attention_sinks = true;
  m.moe.biased = true;
  m.quantised_experts = true;
  if (!m.full_attention.empty()) return;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) m.full_attention.push_back(layer % 2 == 1);
}

LayerSpec layer_spec(const ModelSpec& m, std::int64_t layer) {
  const auto index = static_cast<std::size_t>(layer);
  const bool is_full = index < m.full_attention.size() && m.full_attention[index];
  LayerSpec spec;
  if (!is_full) spec.window = m.sliding_window.value_or(0);
  spec.is_local = spec.window > 0 && m.rope.local_theta > 0;
  spec.has_experts = m.is_moe() && layer >= m.moe.first_dense_layers;
  return spec;
}

std::string problem_of(const ModelSpec& m) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  if (m.layers <= 0 || m.hidden <= 0 || m.heads <= 0 || m.vocab <= 0) {
    return "layers " + text(m.layers) + ", hidden " + text(m.hidden) + ", heads " + text(m.heads) +
           ", vocab " + text(m.vocab) + " must all be positive";
  }
  if (m.kv_heads <= 0) return "kv_heads is " + text(m.kv_heads) + " with " + text(m.heads) + " heads";
  if (!divides(m.kv_heads, m.heads)) {
    return text(m.heads) + " heads are no multiple of " + text(m.kv_heads) + " kv_heads";
  }
  if (m.head_dim <= 0) return "head_dim is " + text(m.head_dim);
  const std::int64_t rotated = m.rope.rotated_dim;
  if (rotated < 0 || rotated > m.head_dim) return text(rotated) + " rotated elements of " + text(m.head_dim);
  const bool needs_dense = !m.is_moe() || m.moe.first_dense_layers > 0;
  if (needs_dense && m.intermediate <= 0) return "intermediate is " + text(m.intermediate);
  if (!m.is_moe()) return "";
  if (m.moe.top_k <= 0 || m.moe.top_k > m.moe.num_experts) {
    return text(m.moe.top_k) + " experts a token of " + text(m.moe.num_experts);
  }
  if (m.moe.intermediate <= 0) return "the experts' intermediate is " + text(m.moe.intermediate);
  if (m.moe.groups < 1 || !divides(m.moe.groups, m.moe.num_experts) || m.moe.top_groups < 1 ||
      m.moe.top_groups > m.moe.groups) {
    return text(m.moe.top_groups) + " of " + text(m.moe.groups) + " groups of " + text(m.moe.num_experts) +
           " experts";
  }
  const std::int64_t within_reach = m.moe.num_experts / m.moe.groups * m.moe.top_groups;
  if (m.moe.top_k > within_reach) return text(m.moe.top_k) + " experts a token of " + text(within_reach);
  if (m.moe.first_dense_layers > m.layers) {
    return text(m.moe.first_dense_layers) + " dense layers of " + text(m.layers);
  }
  return "";
}

std::int64_t parameter_count(const ModelSpec& m) {
  return layer_counts(m).total() + embedding_count(m) + m.hidden;
}

std::int64_t kv_heads_per_rank(const ModelSpec& m, int tp) {
  return std::max<std::int64_t>(1, m.kv_heads / tp);
}

Bytes weight_bytes(const ModelSpec& m, DType dtype, int tp) {
  const Counts counts = layer_counts(m);
  const DType unquantised = bits_per_element(dtype) < 16.0 ? DType::kBF16 : dtype;
  const std::int64_t kv = counts.kv / m.kv_heads * kv_heads_per_rank(m, tp);
  const std::int64_t matrices = ceil_div(counts.split, tp) + kv + counts.replicated;
  const std::int64_t rest = counts.plain + m.hidden + ceil_div(embedding_count(m), tp);
  const std::int64_t experts = ceil_div(counts.experts, tp);
  if (m.quantised_experts) return bytes_of(dtype, experts) + bytes_of(unquantised, matrices + rest);
  return bytes_of(dtype, matrices + experts) + bytes_of(unquantised, rest);
}

Bytes kv_bytes_per_token(const ModelSpec& m, DType kv_dtype, int tp) {
  const std::int64_t elements =
      m.is_mla() ? m.mla.kv_lora_rank + m.mla.qk_rope_head_dim : 2 * kv_heads_per_rank(m, tp) * m.head_dim;
  return bytes_of(kv_dtype, elements * m.layers);
}

double generation_flops(const ModelSpec& m, std::int64_t length, bool kv_cache) {
  const Counts counts = layer_counts(m);
  const double n = static_cast<double>(length);
  const double matrices = static_cast<double>(counts.split + counts.experts + counts.kv + counts.replicated);
  const double head = static_cast<double>(m.vocab * m.hidden);
  const double pair = 4.0 * static_cast<double>(m.heads * m.head_dim * m.layers);
  // Tokens passed through the layers, and (query, key) pairs of causal attention, over all steps.
  const double tokens = kv_cache ? n : n * (n + 1) / 2;
  const double pairs = kv_cache ? n * (n + 1) / 2 : n * (n + 1) * (n + 2) / 6;
  return 2.0 * matrices * tokens + pair * pairs + 2.0 * head * n;
}

}  // namespace servetwin
