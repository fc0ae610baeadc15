// If these fail, what a family's config.json says of its layers is not what is computed, or something that is
// not computed is taken for something that is.
#include "engine/models/computable.h"
#include "engine/models/config_json.h"
#include "tests/support/catch.h"

namespace servetwin::config_family_test {
namespace {

ModelSpec family(const std::string& arch, const std::string& fields) {
  return parse_model_config(R"({"num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 4,
      "intermediate_size": 40, "vocab_size": 31, "max_position_embeddings": 256, "architectures": [")" +
                                arch + "ForCausalLM\"]" + fields + "}",
                            "c");
}

TEST_CASE("windows are the layers' that the family gives them to") {
  const ModelSpec mistral = family("Mistral", R"(, "sliding_window": 9)");
  CHECK(layer_spec(mistral, 0).window == 9);
  CHECK(layer_spec(mistral, 5).window == 9);
  const std::string window = R"(, "sliding_window": 9, "max_window_layers": 2)";
  CHECK_FALSE(family("Qwen2", window).sliding_window.has_value());
  const ModelSpec qwen = family("Qwen2", window + R"(, "use_sliding_window": true)");
  CHECK(layer_spec(qwen, 1).window == 0);
  CHECK(layer_spec(qwen, 2).window == 9);
  const ModelSpec named = family("Mistral", R"(, "sliding_window": 9, "num_hidden_layers": 2,
      "layer_types": ["full_attention", "sliding_attention"])");
  CHECK(layer_spec(named, 0).window == 0);
  CHECK(layer_spec(named, 1).window == 9);
  CHECK_THROWS(family("Mistral", R"(, "sliding_window": 9, "layer_types": ["full_attention"])"));
  CHECK_THROWS(
      family("Mistral", R"(, "sliding_window": 9, "num_hidden_layers": 1, "layer_types": ["chunked"])"));
}

TEST_CASE("Gemma 3's layers see a window by a base of their own, but for each sixth") {
  const ModelSpec m = family("Gemma3", R"(, "sliding_window": 9, "query_pre_attn_scalar": 16)");
  CHECK(layer_spec(m, 4).window == 9);
  CHECK(layer_spec(m, 4).is_local);
  CHECK(layer_spec(m, 5).window == 0);
  CHECK_FALSE(layer_spec(m, 5).is_local);
  CHECK(m.head_dim == 256);
  CHECK(m.embedding_scale == 8);
  CHECK(m.attention_scale == 0.25);
  CHECK(m.rope.theta == 1e6);
  CHECK(m.rope.local_theta == 1e4);
  CHECK(m.tied_embeddings);
  CHECK(m.activation == Activation::kGeluTanh);
  const ModelSpec newer = family("Gemma3", R"(, "sliding_window": 9, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 3000},
      "sliding_attention": {"rope_type": "default", "rope_theta": 200}})");
  CHECK(newer.rope.type == RopeType::kLinear);
  CHECK(newer.rope.factor == 8);
  CHECK(newer.rope.theta == 3000);
  CHECK(newer.rope.local_theta == 200);
}

TEST_CASE("gpt-oss alternates windows and whole layers, and its class supplies what a file leaves out") {
  const std::string experts = R"(, "num_local_experts": 8, "num_experts_per_tok": 2, "head_dim": 16)";
  const ModelSpec m = family("GptOss", experts);
  CHECK(m.sliding_window == 128);
  CHECK(layer_spec(m, 0).window == 128);
  CHECK(layer_spec(m, 1).window == 0);
  CHECK(layer_spec(m, 4).window == 128);
  CHECK(m.qkv_bias);
  CHECK(m.output_bias);
  CHECK(m.attention_sinks);
  CHECK(m.moe.biased);
  CHECK(m.moe.intermediate == 40);
  CHECK(m.rope.type == RopeType::kYarn);
  CHECK(m.rope.factor == 32);
  CHECK(m.rope.theta == 150'000);
  CHECK(m.dtype == DType::kBF16);
  CHECK(family("GptOss", R"(, "num_local_experts": 8, "num_experts_per_tok": 2)").head_dim == 64);
  const ModelSpec stated = family("GptOss", experts + R"(, "sliding_window": 9, "num_hidden_layers": 2,
      "layer_types": ["full_attention", "sliding_attention"], "attention_bias": false,
      "quantization_config": {"quant_method": "mxfp4"}, "torch_dtype": "bfloat16")");
  CHECK(layer_spec(stated, 0).window == 0);
  CHECK(layer_spec(stated, 1).window == 9);
  CHECK_FALSE(stated.output_bias);
  CHECK(stated.dtype == DType::kMxfp4);
  CHECK_THROWS_WITH(family("GptOss", experts + R"(, "sliding_window": null)"),
                    Catch::Contains("sliding_attention"));
  const ModelSpec whole = family("GptOss", experts + R"(, "sliding_window": null, "num_hidden_layers": 1,
      "layer_types": ["full_attention"])");
  CHECK_FALSE(whole.sliding_window.has_value());
  CHECK(why_not_computed(m) == "architecture GptOssForCausalLM is not supported yet");
}

TEST_CASE("newer files state a rotary embedding's figures in one place") {
  const ModelSpec m = family("Phi3", R"(, "rope_parameters": {"rope_type": "longrope", "rope_theta": 50,
      "partial_rotary_factor": 0.25, "original_max_position_embeddings": 64, "short_factor": [1, 1],
      "long_factor": [2, 3]})");
  CHECK(m.rope.theta == 50);
  CHECK(m.rope.rotated_dim == 4);
  CHECK(m.rope.original_max_position == 64);
  CHECK(m.rope.factor == 4);
}

TEST_CASE("long factors must be one a rotated pair") {
  const std::string two = R"(, "partial_rotary_factor": 0.25, "original_max_position_embeddings": 64,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 1], "long_factor": [2, 3]})";
  const ModelSpec m = family("Phi3", two);
  CHECK(m.rope.type == RopeType::kLongRope);
  CHECK(m.rope.rotated_dim == 4);
  CHECK(m.rope.long_divisors == std::vector<double>{2, 3});
  CHECK(m.rope.factor == 4);
  CHECK(m.rope.magnitude == Approx(1.1547005));  // √(1 + ln 4 / ln 64)
  CHECK_THROWS(
      family("Phi3", R"(, "rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [2]})"));
  CHECK_THROWS(family("Phi3", R"(, "rope_scaling": {"type": "longrope"})"));
}

TEST_CASE("what is not computed is refused by its name") {
  const auto reason = [](const std::string& arch, const std::string& fields) {
    return why_not_computed(family(arch, fields));
  };
  CHECK(reason("Mistral", "").empty());
  CHECK(reason("Gemma2", "").find("Gemma2ForCausalLM") != std::string::npos);
  CHECK(reason("Llama", R"(, "sliding_window": 9)").find("sliding windows") != std::string::npos);
  CHECK(reason("Llama", R"(, "hidden_act": "gelu")").find("gelu") != std::string::npos);
  CHECK(reason("Llama", R"(, "mlp_bias": true)").find("mlp_bias") != std::string::npos);
  CHECK(reason("Gemma3", R"(, "use_bidirectional_attention": true)").find("both directions") !=
        std::string::npos);
  const std::string experts = R"(, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8)";
  CHECK(reason("Qwen3Moe", experts).empty());
  CHECK(reason("Qwen3", experts).find("experts") != std::string::npos);
  CHECK(reason("Qwen3Moe", experts + R"(, "decoder_sparse_step": 2)").find("step") != std::string::npos);
  CHECK(reason("Qwen3Moe", experts + R"(, "mlp_only_layers": [1])").find("list") != std::string::npos);
  CHECK_FALSE(reason("Qwen3Moe", experts + R"(, "kv_lora_rank": 8, "qk_rope_head_dim": 4,
      "qk_nope_head_dim": 4, "v_head_dim": 4)")
                  .empty());
}

}  // namespace
}  // namespace servetwin::config_family_test
