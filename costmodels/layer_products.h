// The matrix products of a transformer, as one tensor-parallel rank computes them.
#pragma once

#include <string>
#include <vector>

#include "engine/models/spec.h"

namespace servetwin {

// C[tokens, n] = A[tokens, k] · B[k, n], in so many layers.
struct LayerProduct {
  double n = 0;
  double k = 0;
  double count = 0;
  bool quantised = true;   // false: kept in 16 bits whatever the weights are
  bool attention = false;  // of the attention part, which data-parallel ranks compute for their own tokens
};

// Routed experts of one layer on one rank.
struct ExpertLayers {
  double hidden = 0;
  double width = 0;  // of an expert on this rank
  double top_k = 0;
  double experts = 0;  // of the model
  double ranks = 1;    // that divide the experts among them; a rank has experts / ranks
  double count = 0;    // layers
};

struct RankLayout {
  int tp = 1;            // ranks of one replica
  int attention_dp = 1;  // of these groups each computes attention for its own tokens
  int ep = 1;            // ranks that divide whole experts; the rest of tp divides each expert
};

// What keeps a model from being divided so, and which of the layout's numbers it is about: tp, attention_dp
// or ep.
struct LayoutProblem {
  std::string about;
  std::string message;
};
std::vector<LayoutProblem> layout_problems(const ModelSpec& model, const RankLayout& layout);

// Shared experts and dense layers are products; the head is apart.
std::vector<LayerProduct> layer_products(const ModelSpec& model, const RankLayout& layout);
// A model without experts has 0 such layers.
ExpertLayers expert_layers(const ModelSpec& model, const RankLayout& layout);
LayerProduct head_product(const ModelSpec& model, const RankLayout& layout);

}  // namespace servetwin
