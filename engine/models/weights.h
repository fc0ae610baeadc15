// The weights of a decoder, as matrices of [outputs][inputs]; what a family has not stays empty.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/models/spec.h"
#include "engine/models/stored_matrix.h"

namespace servetwin {

struct DenseWeights {
  StoredMatrix gate;  // [intermediate][hidden]
  StoredMatrix up;    // the same
  StoredMatrix down;  // [hidden][intermediate]
};

// Queries and keys of latent attention come from smaller vectors.
struct LatentWeights {
  StoredMatrix query_down;  // [q_lora_rank][hidden]; empty when queries are projected directly
  Weights query_norm;       // [q_lora_rank]
  StoredMatrix key_down;    // [kv_lora_rank + qk_rope_head_dim][hidden]
  Weights key_norm;         // [kv_lora_rank]
  StoredMatrix key_up;      // [heads · (qk_nope_head_dim + v_head_dim)][kv_lora_rank]
  StoredMatrix
      absorbed;  // of key_up, each head's rows of keys turned: [heads · kv_lora_rank][qk_nope_head_dim]
};

// `absorbed` from `key_up`, in f32.
StoredMatrix absorbed_keys(const ModelSpec& spec, const StoredMatrix& key_up);

struct LayerWeights {
  Weights attention_norm;  // [hidden]
  StoredMatrix query;      // [heads · head_dim][hidden], latent: [heads · …][q_lora_rank or hidden]
  StoredMatrix key;        // [kv_heads · head_dim][hidden]
  StoredMatrix value;      // the same
  Weights query_bias;
  Weights key_bias;
  Weights value_bias;
  Weights query_norm;  // [head_dim]
  Weights key_norm;
  LatentWeights latent;
  StoredMatrix output;          // [hidden][heads · head_dim]
  Weights post_attention_norm;  // [hidden], with sandwich norms
  Weights feed_forward_norm;    // [hidden]
  DenseWeights dense;
  Weights post_feed_forward_norm;
  StoredMatrix router;  // [experts][hidden]
  Weights router_correction;
  DenseWeights experts;  // of all experts, one below the other
  DenseWeights shared;   // of all shared experts, as one
};

struct ModelWeights {
  StoredMatrix embedding;  // [vocab][hidden]
  std::vector<LayerWeights> layers;
  Weights final_norm;  // [hidden]
  StoredMatrix head;   // [vocab][hidden]; empty when the embedding is used again

  const StoredMatrix& output_head() const { return head.empty() ? embedding : head; }
};

// Random weights that are a pure function of (spec, seed), so that a test or another program can make the
// same: element i of tensor t is (2 · draw_unit({seed, kWeights, t}, i) − 1) · √(3 / fan-in), rounded to f32;
// norms are 1 + a tenth of (2 · draw − 1), embeddings 2 · draw − 1, biases and corrections a tenth of that.
// Tensors are numbered: embedding 0, final norm 1, head 2, those of a layer as random_weights.cpp says.
ModelWeights random_weights(const ModelSpec& spec, std::uint64_t seed);

}  // namespace servetwin
