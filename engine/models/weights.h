// The weights of a Llama-like model in f32, as matrices of [outputs][inputs].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/models/spec.h"

namespace servetwin {

using Weights = std::vector<float>;

struct LlamaLayer {
  Weights input_norm;  // [hidden]
  Weights query;       // [heads · head_dim][hidden]
  Weights key;         // [kv_heads · head_dim][hidden]
  Weights value;       // the same
  Weights query_bias;  // empty without biases
  Weights key_bias;
  Weights value_bias;
  Weights output;     // [hidden][heads · head_dim]
  Weights post_norm;  // [hidden]
  Weights gate;       // [intermediate][hidden]
  Weights up;         // the same
  Weights down;       // [hidden][intermediate]
};

struct LlamaWeights {
  Weights embedding;  // [vocab][hidden]
  std::vector<LlamaLayer> layers;
  Weights final_norm;  // [hidden]
  Weights head;        // [vocab][hidden]; empty when the embedding is used again

  const Weights& output_head() const { return head.empty() ? embedding : head; }
};

// Random weights that are a pure function of (spec, seed), so that a test or another program can make the
// same: element i of tensor t is (2 · draw_unit({seed, kWeights, t}, i) − 1) · √(3 / fan-in), rounded to f32;
// norms are 1 + a tenth of (2 · draw − 1), embeddings and biases 2 · draw − 1 and a tenth of it. Tensors are
// numbered: embedding 0, final norm 1, head 2, then 16 (layer + 1) + place in LlamaLayer.
LlamaWeights random_llama_weights(const ModelSpec& spec, std::uint64_t seed);

// Why this build cannot run the model, by name; empty when it can.
std::string why_not_llama(const ModelSpec& spec);

}  // namespace servetwin
