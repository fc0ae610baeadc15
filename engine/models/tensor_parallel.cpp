// Megatron's way to split: outputs of the first product of a pair, inputs of the second.
#include "engine/models/tensor_parallel.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr int kMostRanks = 64;

std::string text(std::int64_t value) { return std::to_string(value); }

Weights part_of(const Weights& values, std::int64_t first, std::int64_t count) {
  if (values.empty()) return {};
  return {values.begin() + first, values.begin() + first + count};
}

// Cuts the tensors of one rank out of a whole model's.
class RankCut {
 public:
  RankCut(const ModelSpec& model, RankPlace place, const SplitLayout& layout)
      : model_(model), part_(rank_spec(model, place, layout)), place_(place), layout_(layout) {}

  StoredMatrix vocabulary(const StoredMatrix& table) const {
    if (table.empty()) return {};
    const RankShare share = vocabulary_share(model_.vocab, place_);
    return rows_of(table, share.first, share.count);
  }

  LayerWeights layer(std::int64_t index, const LayerWeights& whole) const {
    const std::string prefix = "model.layers." + text(index) + '.';
    LayerWeights part;
    part.attention_norm = whole.attention_norm;
    part.post_attention_norm = whole.post_attention_norm;
    part.feed_forward_norm = whole.feed_forward_norm;
    part.post_feed_forward_norm = whole.post_feed_forward_norm;
    part.router = all_of(whole.router);
    part.router_correction = whole.router_correction;
    if (model_.is_mla()) {
      cut_latent_attention(prefix, whole, part);
    } else {
      cut_attention(prefix, whole, part);
    }
    part.dense = cut(prefix + "mlp.down_proj", whole.dense, 1);
    if (layout_.expert_parallel) {
      part.experts = whole_experts(whole.experts);
      part.shared = {all_of(whole.shared.gate), all_of(whole.shared.up), all_of(whole.shared.down)};
      return part;
    }
    part.shared = cut(prefix + "mlp.shared_experts.down_proj", whole.shared, 1);
    part.experts = cut(prefix + "mlp.experts.down_proj", whole.experts, model_.moe.num_experts);
    return part;
  }

  // What no rank's part is a view of.
  void let_go(LayerWeights& whole) const {
    whole.output = {};
    whole.dense.down = {};
    if (layout_.expert_parallel) return;
    whole.shared.down = {};
    whole.experts = {};
  }

 private:
  static StoredMatrix all_of(const StoredMatrix& matrix) { return rows_of(matrix, 0, matrix.rows); }

  void cut_attention(const std::string& prefix, const LayerWeights& whole, LayerWeights& part) const {
    const std::int64_t width = part_.heads * part_.head_dim;
    const std::int64_t first = place_.rank * width;
    part.query_norm = whole.query_norm;
    part.key_norm = whole.key_norm;
    part.query = rows_of(whole.query, first, width);
    part.query_bias = part_of(whole.query_bias, first, width);
    // With fewer heads than ranks, several ranks in a row have the same.
    const std::int64_t kv_width = part_.kv_heads * part_.head_dim;
    const std::int64_t kv_first = place_.rank * model_.kv_heads / place_.size * part_.head_dim;
    part.key = rows_of(whole.key, kv_first, kv_width);
    part.key_bias = part_of(whole.key_bias, kv_first, kv_width);
    part.value = rows_of(whole.value, kv_first, kv_width);
    part.value_bias = part_of(whole.value_bias, kv_first, kv_width);
    part.output = inputs(prefix + "self_attn.o_proj", whole.output);
  }

  void cut_latent_attention(const std::string& prefix, const LayerWeights& whole, LayerWeights& part) const {
    const MlaSpec& mla = model_.mla;
    const auto of_heads = [&](const StoredMatrix& matrix, std::int64_t rows) {
      return rows_of(matrix, place_.rank * part_.heads * rows, part_.heads * rows);
    };
    part.latent.query_down = all_of(whole.latent.query_down);
    part.latent.query_norm = whole.latent.query_norm;
    part.latent.key_down = all_of(whole.latent.key_down);
    part.latent.key_norm = whole.latent.key_norm;
    part.query = of_heads(whole.query, mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    part.latent.key_up = of_heads(whole.latent.key_up, mla.qk_nope_head_dim + mla.v_head_dim);
    part.latent.absorbed = of_heads(whole.latent.absorbed, mla.kv_lora_rank);
    part.output = inputs(prefix + "self_attn.o_proj", whole.output);
  }

  // Those of this rank.
  DenseWeights whole_experts(const DenseWeights& all) const {
    if (all.down.empty()) return {};
    const RankShare share = expert_share(model_.moe.num_experts, place_);
    const auto of_share = [&](const StoredMatrix& matrix) {
      const std::int64_t rows = matrix.rows / model_.moe.num_experts;
      return rows_of(matrix, share.first * rows, share.count * rows);
    };
    return {of_share(all.gate), of_share(all.up), of_share(all.down)};
  }

  // Of each of `experts`, one below the other, its share of the width.
  DenseWeights cut(const std::string& down, const DenseWeights& whole, std::int64_t experts) const {
    if (whole.down.empty()) return {};
    return {outputs(whole.gate, experts), outputs(whole.up, experts), inputs(down, whole.down)};
  }

  StoredMatrix outputs(const StoredMatrix& matrix, std::int64_t experts) const {
    const std::int64_t width = matrix.rows / experts;
    const std::int64_t share = width / place_.size;
    if (experts == 1) return rows_of(matrix, place_.rank * share, share);
    std::vector<StoredMatrix> parts;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      parts.push_back(rows_of(matrix, expert * width + place_.rank * share, share));
    }
    return stacked(parts);
  }

  StoredMatrix inputs(const std::string& tensor, const StoredMatrix& matrix) const {
    const std::int64_t share = matrix.columns / place_.size;
    const std::int64_t block = layout_of(matrix.dtype).block_elements;
    if (share % block == 0) return columns_of(matrix, place_.rank * share, share);
    throw ConfigError(Problem{kCodeNotSplit,
                              {},
                              "spec.layout.tp",
                              tensor + ": " + text(matrix.columns) + " columns in " + name_of(matrix.dtype) +
                                  " over " + text(place_.size) + " ranks are " + text(share) +
                                  " each, which cuts through blocks of " + text(block),
                              "use fewer ranks, or weights in a format without blocks (F32, F16, BF16)"});
  }

  const ModelSpec& model_;
  ModelSpec part_;
  RankPlace place_;
  SplitLayout layout_;
};

}  // namespace

RankShare even_share(std::int64_t all, RankPlace place) {
  const std::int64_t first = place.rank * all / place.size;
  return {first, (place.rank + 1) * all / place.size - first};
}

RankShare token_share(std::int64_t tokens, RankPlace place) {
  const std::int64_t each = largest_share(tokens, place.size);
  const std::int64_t first = std::min(tokens, place.rank * each);
  return {first, std::min(each, tokens - first)};
}

std::string why_not_split(const ModelSpec& m, int ranks, const SplitLayout& layout) {
  const auto uneven = [&](std::int64_t count, const char* what) {
    return text(count) + ' ' + what + " cannot be split over " + text(ranks) + " ranks";
  };
  if (m.heads % ranks != 0) return uneven(m.heads, "attention heads");
  if (!m.is_mla() && m.kv_heads % ranks != 0 && ranks % m.kv_heads != 0) {
    return text(m.kv_heads) + " KV heads and " + text(ranks) + " ranks divide neither way";
  }
  const bool has_dense = !m.is_moe() || m.moe.first_dense_layers > 0;
  if (has_dense && m.intermediate % ranks != 0) return uneven(m.intermediate, "feed-forward columns");
  if (layout.expert_parallel) {
    if (!m.is_moe()) return "expert parallelism is asked for, and the model has no experts";
    if (m.moe.num_experts < ranks) return uneven(m.moe.num_experts, "experts");
  } else if (m.is_moe() && m.moe.intermediate % ranks != 0) {
    return uneven(m.moe.intermediate, "columns of each expert");
  }
  if (m.vocab < ranks) return uneven(m.vocab, "tokens of the vocabulary");
  return "";
}

std::string ranks_that_split(const ModelSpec& model, int most, const SplitLayout& layout) {
  std::vector<int> fit;
  for (int ranks = 1; ranks <= most; ++ranks) {
    if (why_not_split(model, ranks, layout).empty()) fit.push_back(ranks);
  }
  if (fit.empty()) return "no expert parallelism";  // one rank always fits without it
  std::string words;
  for (std::size_t i = 0; i < fit.size(); ++i) {
    if (i > 0) words += i + 1 == fit.size() ? " or " : ", ";
    words += text(fit[i]);
  }
  return words;
}

ModelSpec rank_spec(const ModelSpec& model, RankPlace place, const SplitLayout& layout) {
  const std::string reason = why_not_split(model, place.size, layout);
  if (!reason.empty()) {
    throw ConfigError(Problem{
        kCodeNotSplit, {}, "spec.layout.tp", reason, "use " + ranks_that_split(model, kMostRanks, layout)});
  }
  ModelSpec part = model;
  part.heads = model.heads / place.size;
  part.kv_heads = kv_heads_per_rank(model, place.size);
  part.intermediate = model.intermediate / place.size;
  if (!layout.expert_parallel) part.moe.intermediate = model.moe.intermediate / place.size;
  return part;
}

ModelWeights rank_weights(const ModelSpec& model,
                          const ModelWeights& weights,
                          RankPlace place,
                          const SplitLayout& layout) {
  if (place.size == 1) return weights;
  const RankCut cut(model, place, layout);
  ModelWeights part{cut.vocabulary(weights.embedding), {}, weights.final_norm, cut.vocabulary(weights.head)};
  for (std::size_t index = 0; index < weights.layers.size(); ++index)
    part.layers.push_back(cut.layer(static_cast<std::int64_t>(index), weights.layers[index]));
  return part;
}

Bytes stored_bytes(const ModelWeights& weights) {
  std::size_t bytes = weights.embedding.bytes.size() + weights.head.bytes.size();
  std::size_t floats = weights.final_norm.size();
  const auto add = [&](const DenseWeights& dense) {
    bytes += dense.gate.bytes.size() + dense.up.bytes.size() + dense.down.bytes.size();
  };
  for (const LayerWeights& layer : weights.layers) {
    for (const StoredMatrix* matrix :
         {&layer.query, &layer.key, &layer.value, &layer.output, &layer.router, &layer.latent.query_down,
          &layer.latent.key_down, &layer.latent.key_up, &layer.latent.absorbed}) {
      bytes += matrix->bytes.size();
    }
    for (const DenseWeights* dense : {&layer.dense, &layer.experts, &layer.shared}) add(*dense);
    for (const Weights* vector :
         {&layer.attention_norm, &layer.query_bias, &layer.key_bias, &layer.value_bias, &layer.query_norm,
          &layer.key_norm, &layer.latent.query_norm, &layer.latent.key_norm, &layer.post_attention_norm,
          &layer.feed_forward_norm, &layer.post_feed_forward_norm, &layer.router_correction}) {
      floats += vector->size();
    }
  }
  return Bytes{static_cast<std::int64_t>(bytes + floats * sizeof(float))};
}

SplitWeights::SplitWeights(const ModelSpec& model, ModelWeights whole, int ranks, const SplitLayout& layout) {
  if (ranks == 1) {
    parts_.push_back(std::move(whole));
    return;
  }
  whole_ = std::move(whole);
  std::vector<RankCut> cuts;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankCut& cut = cuts.emplace_back(model, RankPlace{rank, ranks}, layout);
    parts_.push_back({cut.vocabulary(whole_.embedding), {}, whole_.final_norm, cut.vocabulary(whole_.head)});
  }
  for (std::size_t index = 0; index < whole_.layers.size(); ++index) {
    LayerWeights& layer = whole_.layers[index];
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      parts_[rank].layers.push_back(cuts[rank].layer(static_cast<std::int64_t>(index), layer));
    cuts.front().let_go(layer);
  }
}

}  // namespace servetwin
