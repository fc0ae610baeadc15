// The weights of a Llama-like model: matrices of [outputs][inputs] as the checkpoint stores them, norms and
// biases in f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/weight_matrix.h"
#include "engine/models/spec.h"

namespace servetwin {

using Weights = std::vector<float>;

// Owns what a WeightMatrix views.
struct StoredMatrix {
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::byte> bytes;

  bool empty() const { return bytes.empty(); }
  std::int64_t size() const { return rows * columns; }  // elements
  WeightMatrix view() const { return {dtype, rows, columns, bytes.data()}; }
  bool operator==(const StoredMatrix&) const = default;
};

StoredMatrix f32_matrix(std::int64_t rows, std::int64_t columns, const Weights& values);
Weights floats_of(const StoredMatrix& matrix);

struct LlamaLayer {
  Weights input_norm;  // [hidden]
  StoredMatrix query;  // [heads · head_dim][hidden]
  StoredMatrix key;    // [kv_heads · head_dim][hidden]
  StoredMatrix value;  // the same
  Weights query_bias;  // empty without biases
  Weights key_bias;
  Weights value_bias;
  StoredMatrix output;  // [hidden][heads · head_dim]
  Weights post_norm;    // [hidden]
  StoredMatrix gate;    // [intermediate][hidden]
  StoredMatrix up;      // the same
  StoredMatrix down;    // [hidden][intermediate]
};

struct LlamaWeights {
  StoredMatrix embedding;  // [vocab][hidden]
  std::vector<LlamaLayer> layers;
  Weights final_norm;  // [hidden]
  StoredMatrix head;   // [vocab][hidden]; empty when the embedding is used again

  const StoredMatrix& output_head() const { return head.empty() ? embedding : head; }
};

// Random weights that are a pure function of (spec, seed), so that a test or another program can make the
// same: element i of tensor t is (2 · draw_unit({seed, kWeights, t}, i) − 1) · √(3 / fan-in), rounded to f32;
// norms are 1 + a tenth of (2 · draw − 1), embeddings and biases 2 · draw − 1 and a tenth of it. Tensors are
// numbered: embedding 0, final norm 1, head 2, then 16 (layer + 1) + place in LlamaLayer.
LlamaWeights random_llama_weights(const ModelSpec& spec, std::uint64_t seed);

// Why this build cannot run the model, by name; empty when it can.
std::string why_not_llama(const ModelSpec& spec);

}  // namespace servetwin
