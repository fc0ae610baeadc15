// If this fails, a Hugging Face config.json is misread, or a broken one is taken without a word.
#include "engine/models/config_json.h"

#include <string>

#include "engine/base/error.h"
#include "tests/support/catch.h"

namespace servetwin::config_json_test {
namespace {

// A small Llama-like config, with more fields or a replaced tail.
std::string config(const std::string& more = "") {
  return R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096,
    "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16", "tie_word_embeddings": false)" +
         more + "}";
}

Problem problem_with(const std::string& text) {
  try {
    parse_model_config(text, "m/config.json");
  } catch (const ConfigError& error) {
    return error.problems().front();
  }
  FAIL("was accepted");
  return {};
}

TEST_CASE("a Llama config gives the published model") {
  const ModelSpec m =
      parse_model_config(config(R"(, "num_attention_heads": 32, "num_key_value_heads": 8)"), "config.json");
  CHECK(parameter_count(m) == 8'030'261'248);
  CHECK(m.head_dim == 128);
  CHECK(m.dtype == DType::kBF16);
  CHECK_FALSE(m.sliding_window.has_value());
}

TEST_CASE("without num_key_value_heads every head has its own keys") {
  CHECK(parse_model_config(config(R"(, "num_attention_heads": 32)"), "c").kv_heads == 32);
}

TEST_CASE("a stated head_dim need not divide the hidden size") {
  CHECK(parse_model_config(config(R"(, "num_attention_heads": 24, "head_dim": 128)"), "c").head_dim == 128);
  const Problem problem = problem_with(config(R"(, "num_attention_heads": 24)"));
  CHECK(problem.message.find("4096") != std::string::npos);
  CHECK(problem.message.find("24") != std::string::npos);
  CHECK(problem.place.file == "m/config.json");
}

TEST_CASE("head counts that cannot be are refused naming both") {
  const Problem zero = problem_with(config(R"(, "num_attention_heads": 32, "num_key_value_heads": 0)"));
  CHECK(zero.message == "kv_heads is 0 with 32 heads");
  const Problem uneven = problem_with(config(R"(, "num_attention_heads": 32, "num_key_value_heads": 5)"));
  CHECK(uneven.message == "32 heads are no multiple of 5 kv_heads");
}

TEST_CASE("missing and wrongly typed fields are named") {
  CHECK(problem_with(config()).path == "num_attention_heads");
  CHECK(problem_with(config(R"(, "num_attention_heads": "32")")).path == "num_attention_heads");
  CHECK(problem_with(config(R"(, "num_attention_heads": 32.5)")).path == "num_attention_heads");
  CHECK(problem_with(config(R"(, "num_attention_heads": -4)")).path == "num_attention_heads");
  CHECK(problem_with(config(R"(, "num_attention_heads": 99999999999999999999)")).path ==
        "num_attention_heads");
  CHECK(problem_with("[1]").message == "is no JSON object");
  CHECK(problem_with("{\"a\": ").message.find("is no JSON") == 0);
}

TEST_CASE("a config of any depth is refused before it is parsed") {
  const std::string deep(200'000, '[');
  CHECK(problem_with(deep).message == "is nested deeper than 64");
  const std::string brackets_in_text =
      R"(, "num_attention_heads": 32, "note": ")" + std::string(100, '[') + "\\\"{\"";
  CHECK(parse_model_config(config(brackets_in_text), "c").heads == 32);
}

TEST_CASE("families name experts and latent attention differently") {
  const ModelSpec mixtral = parse_model_config(
      config(R"(, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8,
              "num_experts_per_tok": 2)"),
      "c");
  CHECK(mixtral.moe.num_experts == 8);
  CHECK(mixtral.moe.intermediate == 14336);
  const ModelSpec deepseek = parse_model_config(
      config(R"(, "num_attention_heads": 32, "n_routed_experts": 256, "num_experts_per_tok": 8,
              "moe_intermediate_size": 2048, "n_shared_experts": 1, "first_k_dense_replace": 3,
              "kv_lora_rank": 512, "q_lora_rank": null, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
              "v_head_dim": 128)"),
      "c");
  CHECK(deepseek.moe.first_dense_layers == 3);
  CHECK(deepseek.mla.q_lora_rank == 0);
  CHECK(kv_bytes_per_token(deepseek, DType::kBF16) == Bytes{576 * 32 * 2});
}

TEST_CASE("a sliding window counts only where it is in use") {
  const std::string heads = R"(, "num_attention_heads": 32, "sliding_window": 4096)";
  CHECK(parse_model_config(config(heads), "c").sliding_window == 4096);
  const ModelSpec unused = parse_model_config(config(heads + R"(, "use_sliding_window": false)"), "c");
  CHECK_FALSE(unused.sliding_window.has_value());
}

TEST_CASE("a multimodal config is read from its text part") {
  const std::string inner = config(R"(, "num_attention_heads": 32)");
  const ModelSpec m = parse_model_config(
      R"({"architectures": ["VisionModel"], "tie_word_embeddings": true, "text_config": )" + inner + "}",
      "c");
  CHECK(m.arch == "VisionModel");
  CHECK(m.layers == 32);
  CHECK(m.tied_embeddings);
}

TEST_CASE("a folder without config.json is an error that names the file") {
  CHECK_THROWS_AS(read_model_folder("no_such_folder"), ConfigError);
}

}  // namespace
}  // namespace servetwin::config_json_test
