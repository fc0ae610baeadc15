// If these fail, a family's GGUF file is computed with other weights or figures than the same model from
// Hugging Face: a name stands for another tensor, or a figure that GGUF leaves out is not the family's.
#include <string>

#include "engine/models/checkpoints/weight_source.h"
#include "engine/models/config_json.h"
#include "tests/models/model_bytes.h"
#include "tests/support/catch.h"

namespace servetwin::gguf_family_test {
namespace {

struct FamilyCase {
  const char* gguf;    // architecture
  const char* config;  // what config.json says beyond the common figures
};

const FamilyCase kCases[] = {
    {"qwen3", R"("architectures": ["Qwen3ForCausalLM"], "head_dim": 12)"},
    {"phi3", R"("architectures": ["Phi3ForCausalLM"], "head_dim": 8, "partial_rotary_factor": 0.5,
                "sliding_window": 100)"},
    {"llama", R"("architectures": ["MixtralForCausalLM"], "num_local_experts": 3, "num_experts_per_tok": 2)"},
    {"qwen3moe", R"("architectures": ["Qwen3MoeForCausalLM"], "head_dim": 12, "num_experts": 3,
                    "num_experts_per_tok": 2, "moe_intermediate_size": 20, "norm_topk_prob": true)"},
    {"gemma3", R"("architectures": ["Gemma3ForCausalLM"], "head_dim": 12, "sliding_window": 16,
                  "query_pre_attn_scalar": 12, "rope_theta": 1000000.0, "tie_word_embeddings": true)"},
};

ModelSpec spec_of(const FamilyCase& one) {
  return parse_model_config(R"({"num_hidden_layers": 6, "hidden_size": 24, "num_attention_heads": 4,
      "num_key_value_heads": 2, "intermediate_size": 40, "vocab_size": 31, "max_position_embeddings": 256,
      "rms_norm_eps": 1e-6, )" + std::string(one.config) +
                                "}",
                            one.gguf);
}

class FamilyWriter {
 public:
  FamilyWriter(const std::string& arch, const ModelSpec& spec, const ModelWeights& weights)
      : arch_(arch), spec_(spec) {
    add("token_embd.weight", weights.embedding);
    add("output_norm.weight", weights.final_norm);
    if (!spec.tied_embeddings) add("output.weight", weights.head);
    for (std::size_t i = 0; i < weights.layers.size(); ++i) {
      prefix_ = "blk." + std::to_string(i) + '.';
      add_layer(weights.layers[i]);
    }
    add_metadata();
  }

  std::string bytes() const { return builder_.bytes(); }

 private:
  using Shape64 = std::vector<std::uint64_t>;

  void add(const std::string& name, const Weights& values) {
    if (values.empty()) return;
    builder_.tensor(prefix_ + name, {values.size()}, 0, raw_floats(values));
  }
  void add(const std::string& name, const StoredMatrix& matrix, std::int64_t copies = 1) {
    if (matrix.empty()) return;
    Shape64 shape{static_cast<std::uint64_t>(matrix.columns),
                  static_cast<std::uint64_t>(matrix.rows / copies)};
    if (copies > 1) shape.push_back(static_cast<std::uint64_t>(copies));
    builder_.tensor(prefix_ + name, shape, 0, raw_floats(floats_of(matrix)));
  }

  static StoredMatrix above(const StoredMatrix& upper, const StoredMatrix& lower) {
    return stacked({upper, lower});
  }

  // The two rows of a rotated pair side by side, for architecture llama.
  StoredMatrix paired(const StoredMatrix& matrix) const {
    if (arch_ != "llama") return matrix;
    const Weights from = floats_of(matrix);
    Weights to;
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      const std::int64_t within = row % spec_.head_dim;
      const std::int64_t source = row - within + within / 2 + within % 2 * spec_.head_dim / 2;
      const auto begin = from.begin() + source * matrix.columns;
      to.insert(to.end(), begin, begin + matrix.columns);
    }
    return f32_matrix(matrix.rows, matrix.columns, to);
  }

  void add_layer(const LayerWeights& layer) {
    const bool is_fused = arch_ == "phi3";
    add("attn_norm.weight", layer.attention_norm);
    add("post_attention_norm.weight", layer.post_attention_norm);
    add("ffn_norm.weight", layer.feed_forward_norm);
    add("post_ffw_norm.weight", layer.post_feed_forward_norm);
    if (is_fused) {
      add("attn_qkv.weight", above(above(layer.query, layer.key), layer.value));
    } else {
      add("attn_q.weight", paired(layer.query));
      add("attn_k.weight", paired(layer.key));
      add("attn_v.weight", layer.value);
    }
    add("attn_q_norm.weight", layer.query_norm);
    add("attn_k_norm.weight", layer.key_norm);
    add("attn_output.weight", layer.output);
    add("ffn_up.weight", is_fused ? above(layer.dense.gate, layer.dense.up) : layer.dense.up);
    if (!is_fused) add("ffn_gate.weight", layer.dense.gate);
    add("ffn_down.weight", layer.dense.down);
    add("ffn_gate_inp.weight", layer.router);
    add("ffn_gate_exps.weight", layer.experts.gate, spec_.moe.num_experts);
    add("ffn_up_exps.weight", layer.experts.up, spec_.moe.num_experts);
    add("ffn_down_exps.weight", layer.experts.down, spec_.moe.num_experts);
  }

  void count(const std::string& name, std::int64_t value) {
    if (value > 0) builder_.count(arch_ + '.' + name, static_cast<std::uint32_t>(value));
  }

  void add_metadata() {
    builder_.text("general.architecture", arch_);
    count("block_count", spec_.layers);
    count("embedding_length", spec_.hidden);
    count("feed_forward_length", spec_.intermediate);
    count("context_length", spec_.max_position);
    count("attention.head_count", spec_.heads);
    count("attention.head_count_kv", spec_.kv_heads);
    count("attention.key_length", spec_.head_dim);
    count("attention.value_length", spec_.head_dim);
    count("attention.sliding_window", spec_.sliding_window.value_or(0));
    count("rope.dimension_count", spec_.rope.rotated_dim);
    count("expert_count", spec_.moe.num_experts);
    count("expert_used_count", spec_.moe.top_k);
    count("expert_feed_forward_length", spec_.moe.intermediate);
    builder_.number(arch_ + ".attention.layer_norm_rms_epsilon", static_cast<float>(spec_.norm_epsilon));
    builder_.number(arch_ + ".rope.freq_base", static_cast<float>(spec_.rope.theta));
  }

  std::string arch_;
  const ModelSpec& spec_;
  std::string prefix_;
  GgufBuilder builder_;
};

void check_same(const ModelSpec& ours, const ModelSpec& theirs) {
  CHECK(ours.arch == theirs.arch);
  CHECK(ours.head_dim == theirs.head_dim);
  CHECK(ours.sliding_window == theirs.sliding_window);
  CHECK(ours.full_attention == theirs.full_attention);
  CHECK(ours.qk_norm == theirs.qk_norm);
  CHECK(ours.tied_embeddings == theirs.tied_embeddings);
  CHECK(ours.attention_scale == theirs.attention_scale);
  CHECK(ours.embedding_scale == theirs.embedding_scale);
  CHECK(ours.sandwich_norms == theirs.sandwich_norms);
  CHECK(ours.activation == theirs.activation);
  CHECK(ours.rope.theta == theirs.rope.theta);
  CHECK(ours.rope.local_theta == theirs.rope.local_theta);
  CHECK(ours.rope.rotated_dim == theirs.rope.rotated_dim);
  CHECK(ours.moe.num_experts == theirs.moe.num_experts);
  CHECK(ours.moe.top_k == theirs.moe.top_k);
  CHECK(ours.moe.intermediate == theirs.moe.intermediate);
  CHECK(ours.moe.renormalised == theirs.moe.renormalised);
}

void check_same(const LayerWeights& ours, const LayerWeights& theirs) {
  CHECK(ours.attention_norm == theirs.attention_norm);
  CHECK(ours.post_attention_norm == theirs.post_attention_norm);
  CHECK(ours.feed_forward_norm == theirs.feed_forward_norm);
  CHECK(ours.post_feed_forward_norm == theirs.post_feed_forward_norm);
  CHECK(ours.query == theirs.query);
  CHECK(ours.key == theirs.key);
  CHECK(ours.value == theirs.value);
  CHECK(ours.query_norm == theirs.query_norm);
  CHECK(ours.key_norm == theirs.key_norm);
  CHECK(ours.output == theirs.output);
  CHECK(ours.router == theirs.router);
  for (const auto part : {&LayerWeights::dense, &LayerWeights::experts}) {
    CHECK((ours.*part).gate == (theirs.*part).gate);
    CHECK((ours.*part).up == (theirs.*part).up);
    CHECK((ours.*part).down == (theirs.*part).down);
  }
}

TEST_CASE("a family's GGUF file gives the figures and the weights of the model that it was made from") {
  for (const FamilyCase& one : kCases) {
    CAPTURE(one.gguf);
    const ModelSpec spec = spec_of(one);
    const ModelWeights weights = random_weights(spec, 3);
    const ModelFolder folder("gguf_family");
    const WeightSource source =
        open_weights(folder.write("m.gguf", FamilyWriter(one.gguf, spec, weights).bytes()));
    check_same(source.spec(), spec);
    const ModelWeights loaded = load_weights(source);
    CHECK(loaded.embedding == weights.embedding);
    CHECK(loaded.head == weights.head);
    CHECK(loaded.final_norm == weights.final_norm);
    REQUIRE(loaded.layers.size() == weights.layers.size());
    for (std::size_t i = 0; i < loaded.layers.size(); ++i) check_same(loaded.layers[i], weights.layers[i]);
  }
}

}  // namespace
}  // namespace servetwin::gguf_family_test
