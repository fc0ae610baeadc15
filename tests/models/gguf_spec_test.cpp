// If these fail, a GGUF model is computed with other shapes than it has, or one that cannot be computed is
// taken.
#include "engine/models/checkpoints/gguf_spec.h"

#include <cmath>
#include <string>

#include "engine/base/params.h"
#include "engine/models/checkpoints/model_error.h"
#include "engine/models/computable.h"
#include "tests/models/model_bytes.h"
#include "tests/support/catch.h"

namespace servetwin::gguf_spec_test {
namespace {

// The metadata of a small model of this architecture.
GgufBuilder metadata(const std::string& arch) {
  GgufBuilder builder;
  builder.text("general.architecture", arch)
      .count(arch + ".block_count", 2)
      .count(arch + ".embedding_length", 64)
      .count(arch + ".feed_forward_length", 128)
      .count(arch + ".context_length", 4096)
      .count(arch + ".attention.head_count", 4)
      .count(arch + ".vocab_size", 100);
  return builder;
}

ModelSpec spec_of(const GgufBuilder& builder) {
  const ModelFolder folder("gguf_spec");
  return gguf_model_spec(open_gguf(folder.write("m.gguf", builder.bytes())));
}

Problem problem(const GgufBuilder& builder) {
  return problem_of_reading([&] { spec_of(builder); });
}

const std::string kOne = raw_floats({1});

TEST_CASE("a Llama's metadata become its shapes, and what is absent follows from the rest") {
  GgufBuilder builder = metadata("llama");
  builder.count("llama.attention.head_count_kv", 2)
      .number("llama.attention.layer_norm_rms_epsilon", 1e-6F)
      .number("llama.rope.freq_base", 500'000.0F)
      .tensor("output.weight", {1}, 0, kOne)
      .tensor("blk.0.attn_q.weight", {32, 1}, 3, std::string(20, '\0'));
  const ModelSpec m = spec_of(builder);
  CHECK(m.arch == "LlamaForCausalLM");
  CHECK(m.layers == 2);
  CHECK(m.hidden == 64);
  CHECK(m.heads == 4);
  CHECK(m.kv_heads == 2);
  CHECK(m.head_dim == 16);
  CHECK(m.intermediate == 128);
  CHECK(m.vocab == 100);
  CHECK(m.max_position == 4096);
  CHECK(m.norm_epsilon == static_cast<double>(1e-6F));
  CHECK(m.rope.theta == 500'000);
  CHECK(m.rope.type == RopeType::kDefault);
  CHECK_FALSE(m.tied_embeddings);
  CHECK_FALSE(m.qkv_bias);
  CHECK(m.dtype == DType::kQ4_1);
  CHECK(spec_of(metadata("llama")).kv_heads == 4);
  CHECK(spec_of(metadata("llama")).tied_embeddings);
}

TEST_CASE("biases and norms of queries and keys are seen by their tensors") {
  CHECK(spec_of(metadata("qwen2").tensor("blk.0.attn_q.bias", {1}, 0, kOne)).qkv_bias);
  CHECK(spec_of(metadata("qwen3").tensor("blk.0.attn_q_norm.weight", {1}, 0, kOne)).qk_norm);
}

TEST_CASE("experts, windows and latent attention are read where a family has them") {
  GgufBuilder mixtral = metadata("llama");
  mixtral.count("llama.expert_count", 8).count("llama.expert_used_count", 2);
  CHECK(spec_of(mixtral).arch == "MixtralForCausalLM");
  CHECK(spec_of(mixtral).moe.intermediate == 128);
  CHECK(spec_of(metadata("gemma3").count("gemma3.attention.sliding_window", 512)).sliding_window == 512);
  CHECK(spec_of(metadata("gemma3").number("gemma3.final_logit_softcapping", 30.0F)).logit_soft_cap == 30);
  GgufBuilder deepseek = metadata("deepseek2");
  deepseek.count("deepseek2.expert_count", 64)
      .count("deepseek2.expert_used_count", 6)
      .count("deepseek2.expert_feed_forward_length", 32)
      .count("deepseek2.expert_shared_count", 2)
      .count("deepseek2.leading_dense_block_count", 1)
      .count("deepseek2.attention.kv_lora_rank", 24)
      .count("deepseek2.attention.key_length", 28)
      .count("deepseek2.attention.value_length", 20)
      .count("deepseek2.rope.dimension_count", 8);
  const ModelSpec m = spec_of(deepseek);
  CHECK(m.mla.qk_nope_head_dim == 20);
  CHECK(m.mla.qk_rope_head_dim == 8);
  CHECK(m.mla.v_head_dim == 20);
  CHECK(m.moe.shared_experts == 2);
  CHECK(m.moe.first_dense_layers == 1);
  CHECK(why_not_computed(m).find("GGUF") != std::string::npos);
}

TEST_CASE("an architecture or variant that is not supported is refused by its name") {
  const Problem unknown = problem(metadata("mamba"));
  CHECK(unknown.code == std::string(kModelFamily));
  CHECK(mentions(unknown, "\"mamba\""));
  CHECK(mentions(unknown, "qwen2"));
  CHECK(problem(GgufBuilder()).path == "general.architecture");
  CHECK(mentions(problem(metadata("qwen2").count("qwen2.expert_count", 8)), "with routed experts"));
  CHECK(mentions(problem(metadata("qwen3moe")), "without routed experts"));
  CHECK(mentions(problem(metadata("llama").text("llama.rope.scaling.type", "longrope")), "longrope"));
  CHECK(problem(metadata("phi3").tensor("rope_factors_long.weight", {1}, 0, kOne)).code ==
        std::string(kModelFamily));
  CHECK(problem(metadata("llama").count("llama.rope.dimension_count", 8)).path ==
        "llama.rope.dimension_count");
  CHECK(problem(metadata("llama").count("llama.attention.value_length", 8)).path ==
        "llama.attention.value_length");
}

TEST_CASE("missing, impossible and contradicting values are refused with their key") {
  GgufBuilder no_blocks;
  no_blocks.text("general.architecture", "llama");
  CHECK(problem(no_blocks).path == "llama.block_count");
  CHECK(problem(no_blocks).code == std::string(kCodeMissing));
  CHECK(problem(metadata("llama").number("llama.rope.freq_base", -1.0F)).path == "llama.rope.freq_base");
  CHECK(problem(metadata("llama").number("llama.rope.freq_base", NAN)).code == std::string(kCodeOutOfRange));
  CHECK(problem(metadata("llama").pair("llama.attention.head_count_kv", 5, raw(-2))).code ==
        std::string(kCodeOutOfRange));
  CHECK(mentions(problem(metadata("llama").count("llama.attention.head_count_kv", 3)),
                 "4 heads are no multiple of 3"));
  CHECK(problem(metadata("llama").text("llama.attention.head_count_kv", "2")).code ==
        std::string(kGgufMetadata));
}

TEST_CASE("a list of values for the layers is taken when they are equal, and refused when not") {
  const auto heads = [](std::int32_t a, std::int32_t b) {
    return metadata("llama").pair("llama.attention.head_count_kv", 9,
                                  raw(5U) + raw<std::uint64_t>(2) + raw(a) + raw(b));
  };
  CHECK(spec_of(heads(2, 2)).kv_heads == 2);
  CHECK(problem(heads(2, 4)).code == std::string(kModelFamily));
}

// Llama 3's rule as the published code computes it: a smooth step between two wavelengths.
std::vector<float> llama3_divisors(double theta, int dim, double factor) {
  std::vector<float> divisors;
  for (int i = 0; i < dim; i += 2) {
    const double wavelength = 2 * M_PI * std::pow(theta, static_cast<double>(i) / dim);
    const double smooth = (8192 / wavelength - 1) / (4.0 - 1);
    divisors.push_back(static_cast<float>(wavelength < 8192.0 / 4   ? 1
                                          : wavelength > 8192.0 / 1 ? factor
                                                                    : 1 / ((1 - smooth) / factor + smooth)));
  }
  return divisors;
}

TEST_CASE("Llama 3's rotary divisors give their factor back, and others are refused") {
  std::vector<float> divisors = llama3_divisors(500'000, 64, 32);
  const auto model = [&] {
    return metadata("llama")
        .number("llama.rope.freq_base", 500'000.0F)
        .count("llama.attention.key_length", 64)
        .count("llama.attention.value_length", 64)
        .tensor("rope_freqs.weight", {32}, 0, raw_floats(divisors));
  };
  const ModelSpec m = spec_of(model());
  CHECK(m.rope.type == RopeType::kLlama3);
  CHECK(m.rope.factor == 32);
  CHECK(m.rope.original_max_position == 8192);
  divisors[16] *= 1.01F;
  CHECK(problem(model()).code == std::string(kModelFamily));
  divisors[16] = NAN;
  CHECK(problem(model()).code == std::string(kModelFamily));
  divisors.pop_back();
  CHECK(problem(metadata("llama").tensor("rope_freqs.weight", {31}, 0, raw_floats(divisors))).code ==
        std::string(kTensorShape));
}

TEST_CASE("linear and YaRN scaling are read") {
  GgufBuilder builder = metadata("qwen2");
  builder.text("qwen2.rope.scaling.type", "yarn")
      .number("qwen2.rope.scaling.factor", 4.0F)
      .count("qwen2.rope.scaling.original_context_length", 1024);
  const ModelSpec m = spec_of(builder);
  CHECK(m.rope.type == RopeType::kYarn);
  CHECK(m.rope.factor == 4);
  CHECK(m.rope.original_max_position == 1024);
}

}  // namespace
}  // namespace servetwin::gguf_spec_test
