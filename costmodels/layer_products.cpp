// Queries, keys and values are one product, as are gate and up: engines fuse them.
#include "costmodels/layer_products.h"

#include <algorithm>

#include "costmodels/numbers.h"
#include "engine/base/units.h"

namespace servetwin {
namespace {

void add_attention(const ModelSpec& m, double ranks, std::vector<LayerProduct>& products) {
  const double layers = real(m.layers);
  const double hidden = real(m.hidden);
  const double queries = real(m.heads) / ranks * real(m.head_dim);
  const double keys = std::max(1.0, real(m.kv_heads) / ranks) * real(m.head_dim);
  products.push_back({queries + 2.0 * keys, hidden, layers, !m.quantised_experts, true});
  products.push_back({hidden, queries, layers, !m.quantised_experts, true});
}

// The absorbed form: keys' and values' up-projections move to queries and outputs, where they cost the same
// a token.
void add_latent_attention(const ModelSpec& m, double ranks, std::vector<LayerProduct>& products) {
  const double layers = real(m.layers);
  const double hidden = real(m.hidden);
  const double heads = real(m.heads) / ranks;
  const MlaSpec& mla = m.mla;
  const double latent = real(mla.kv_lora_rank);
  const double down = latent + real(mla.qk_rope_head_dim);
  const double queries = heads * real(mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  if (mla.q_lora_rank > 0) {
    products.push_back({real(mla.q_lora_rank) + down, hidden, layers, true, true});
    products.push_back({queries, real(mla.q_lora_rank), layers, true, true});
  } else {
    products.push_back({queries + down, hidden, layers, true, true});
  }
  products.push_back({heads * real(mla.qk_nope_head_dim + mla.v_head_dim), latent, layers, true, true});
  products.push_back({hidden, heads * real(mla.v_head_dim), layers, true, true});
}

void add_feed_forward(double hidden, double width, double layers, std::vector<LayerProduct>& products) {
  if (layers <= 0 || width <= 0) return;
  products.push_back({2.0 * width, hidden, layers, true, false});
  products.push_back({hidden, width, layers, true, false});
}

double expert_layer_count(const ModelSpec& m) {
  return m.is_moe() ? real(m.layers - m.moe.first_dense_layers) : 0.0;
}

}  // namespace

std::vector<LayoutProblem> layout_problems(const ModelSpec& m, const RankLayout& layout) {
  std::vector<LayoutProblem> problems;
  const auto divide = [&](const char* about, const char* what, std::int64_t count, std::int64_t ranks) {
    if (ranks > 0 && count % ranks == 0) return;
    problems.push_back(
        {about, "cannot divide " + std::to_string(count) + ' ' + what + " among " + std::to_string(ranks)});
  };
  divide("attention_dp", "ranks of tp", layout.tp, layout.attention_dp);
  divide("ep", "ranks of tp", layout.tp, layout.ep);
  if (layout.ep > 1 && !m.is_moe()) problems.push_back({"ep", m.name + " has no experts to divide"});
  if (!problems.empty()) return problems;
  const int attention_ranks = layout.tp / layout.attention_dp;
  divide("tp", "heads", m.heads, attention_ranks);
  if (m.kv_heads % attention_ranks != 0 && attention_ranks % m.kv_heads != 0)
    problems.push_back({"tp", "cannot divide or repeat " + std::to_string(m.kv_heads) + " kv_heads among " +
                                  std::to_string(attention_ranks)});
  if (m.intermediate > 0 && expert_layer_count(m) < real(m.layers))
    divide("tp", "intermediate", m.intermediate, layout.tp);
  if (!m.is_moe()) return problems;
  divide("ep", "experts", m.moe.num_experts, layout.ep);
  divide("tp", "width of an expert", m.moe.intermediate, layout.tp / layout.ep);
  return problems;
}

std::vector<LayerProduct> layer_products(const ModelSpec& m, const RankLayout& layout) {
  std::vector<LayerProduct> products;
  const double ranks = layout.tp;
  const double attention_ranks = ranks / layout.attention_dp;
  if (m.is_mla()) {
    add_latent_attention(m, attention_ranks, products);
  } else {
    add_attention(m, attention_ranks, products);
  }
  const double hidden = real(m.hidden);
  const double sparse = expert_layer_count(m);
  add_feed_forward(hidden, real(m.intermediate) / ranks, real(m.layers) - sparse, products);
  if (sparse <= 0) return products;
  products.push_back({real(m.moe.num_experts), hidden, sparse, false, false});
  add_feed_forward(hidden, real(m.moe.shared_experts * m.moe.intermediate) / ranks, sparse, products);
  return products;
}

ExpertLayers expert_layers(const ModelSpec& m, const RankLayout& layout) {
  ExpertLayers experts;
  experts.count = expert_layer_count(m);
  if (experts.count <= 0) return experts;
  experts.hidden = real(m.hidden);
  experts.ranks = layout.ep;
  experts.width = real(m.moe.intermediate) * layout.ep / layout.tp;
  experts.top_k = real(m.moe.top_k);
  experts.experts = real(m.moe.num_experts);
  return experts;
}

LayerProduct head_product(const ModelSpec& m, const RankLayout& layout) {
  return {static_cast<double>(ceil_div(m.vocab, layout.tp)), real(m.hidden), 1.0, false, false};
}

}  // namespace servetwin
