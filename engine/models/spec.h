// A model as pure data: its shapes, what each layer does, and what follows: parameters, bytes, KV per token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/units.h"

namespace servetwin {

// Routed experts; present when num_experts > 0.
struct MoeSpec {
  std::int64_t num_experts = 0;
  std::int64_t top_k = 0;
  std::int64_t intermediate = 0;        // of one routed expert
  std::int64_t shared_experts = 0;      // each of `intermediate`
  std::int64_t first_dense_layers = 0;  // layers that keep the dense feed-forward part
  bool sigmoid = false;  // scores by sigmoid, chosen with a correction, groups by their two best; or softmax
  bool renormalised = false;  // the chosen experts' weights are divided by their sum
  double factor = 1;          // of the experts' weights
  bool biased = false;        // router and experts add a bias
  std::int64_t groups = 1;    // experts are chosen from `top_groups` of so many equal groups
  std::int64_t top_groups = 1;
};

// Multi-head latent attention; present when kv_lora_rank > 0.
struct MlaSpec {
  std::int64_t kv_lora_rank = 0;
  std::int64_t q_lora_rank = 0;  // 0: queries are projected directly
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t v_head_dim = 0;
};

enum class RopeType : std::uint8_t { kDefault, kLinear, kDynamic, kYarn, kLlama3, kLongRope, kOther };

// Rotary embeddings; figures that a type does not use stay at their defaults.
struct RopeSpec {
  RopeType type = RopeType::kDefault;
  std::string type_name = "default";  // as config.json says
  double theta = 10'000;
  double factor = 1;
  double original_max_position = 0;  // 0: max_position
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double beta_fast = 32;
  double beta_slow = 1;
  double local_theta = 0;              // of layers with a window, unscaled; 0: they turn as the others
  std::int64_t rotated_dim = 0;        // first elements of a head that turn; 0: all
  double magnitude = 0;                // of cosine and sine; 0: by the type's own rule
  std::vector<double> short_divisors;  // kLongRope, a pair each: up to the original context, and beyond it
  std::vector<double> long_divisors;
};

enum class Activation : std::uint8_t { kSilu, kGeluTanh, kOther };

struct ModelSpec {
  std::string name;
  std::string arch;  // architectures[0] of config.json
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate = 0;  // of the dense feed-forward part
  std::int64_t vocab = 0;
  std::int64_t max_position = 0;
  std::optional<std::int64_t> sliding_window;  // tokens a query sees, its own with them
  std::vector<bool> full_attention;            // by layer: no window there; empty: in none
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;        // of attention
  bool attention_sinks = false;    // a learned logit a head takes part in each softmax and stands for no key
  bool quantised_experts = false;  // below 16 bits only routed experts are; all else keeps 16
  bool qk_norm = false;            // an RMS norm of head_dim on queries and keys, as in Qwen3
  double attention_scale = 0;      // of queries times keys; 0: 1 / √head_dim
  double attention_soft_cap = 0;   // 0: none
  double logit_soft_cap = 0;
  double embedding_scale = 1;
  bool sandwich_norms =
      false;  // attention and feed-forward part are normalised once more before they are added
  bool norm_plus_one = false;  // checkpoints hold the norms' weights less one
  Activation activation = Activation::kSilu;
  double norm_epsilon = 1e-5;
  RopeSpec rope;
  DType dtype = DType::kBF16;  // of the weights as published
  MoeSpec moe;
  MlaSpec mla;
  std::string not_computed;  // what its files ask for that only counts as a shape here; empty: nothing

  bool is_moe() const { return moe.num_experts > 0; }
  bool is_mla() const { return mla.kv_lora_rank > 0; }
};

// What may differ from layer to layer.
struct LayerSpec {
  std::int64_t window = 0;  // keys a query sees; 0: all before it
  bool is_local = false;    // turns by rope.local_theta
  bool has_experts = false;
};

// Gives a model of a family whose files leave them out the figures that all of its models share.
void complete_family(ModelSpec& model);

LayerSpec layer_spec(const ModelSpec& model, std::int64_t layer);

// What is wrong with the shapes, with the numbers, or empty.
std::string problem_of(const ModelSpec& model);

// Weights of every kind, embeddings included; exact for Llama-like, Mixtral-like, Qwen3 and DeepSeek-V3
// models (there without the multi-token-prediction layer).
std::int64_t parameter_count(const ModelSpec& model);

// KV heads on one of `tp` ranks: at least one, replicated when there are fewer heads than ranks.
std::int64_t kv_heads_per_rank(const ModelSpec& model, int tp);

// Bytes one rank holds. Norms, routers and MLA's down-projections are replicated; KV heads too when there are
// fewer than ranks. Below 16 bits only the layers' matrices are quantised, or only routed experts where the
// model says so: embeddings, head, norms, biases and routers keep 16.
Bytes weight_bytes(const ModelSpec& model, DType dtype, int tp = 1);
// MLA: (kv_lora_rank + qk_rope_head_dim) elements a layer, else 2 · kv heads of the rank · head_dim.
Bytes kv_bytes_per_token(const ModelSpec& model, DType kv_dtype, int tp = 1);

// FLOPs of the matrix products to generate `length` tokens from nothing, with a KV cache (each token once, N²
// in attention) and without (everything again for each token, N³).
double generation_flops(const ModelSpec& model, std::int64_t length, bool kv_cache);

}  // namespace servetwin
