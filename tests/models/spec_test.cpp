// If this fails, weights, KV cache or FLOPs of a model are counted wrongly, and so is everything priced from
// them.
#include "engine/models/spec.h"

#include <map>
#include <string>

#include "engine/base/data_files.h"
#include "engine/models/catalogue.h"
#include "tests/support/catch.h"

namespace servetwin::spec_test {
namespace {

ModelSpec model(const std::string& name) { return find_model(name, {SERVETWIN_SOURCE_DIR}); }

TEST_CASE("parameter counts equal the published ones") {
  const std::map<std::string, std::int64_t> published{
      {"meta-llama/Meta-Llama-3.1-8B", 8'030'261'248},
      {"meta-llama/Meta-Llama-3.1-70B", 70'553'706'496},
      {"meta-llama/Meta-Llama-3.1-405B", 405'853'388'800},
      {"meta-llama/Llama-2-7b-hf", 6'738'415'616},
      {"meta-llama/Llama-2-70b-hf", 68'976'648'192},
      {"codellama/CodeLlama-34b-Instruct-hf", 33'743'970'304},
      {"Qwen/Qwen3-0.6B", 596'049'920},
      {"Qwen/Qwen3-8B", 8'190'735'360},
      {"Qwen/Qwen3-32B", 32'762'123'264},
      {"Qwen/Qwen2.5-7B-Instruct", 7'615'616'512},
      {"mistralai/Mistral-Nemo-Instruct-2407", 12'247'782'400},
      {"mistralai/Mixtral-8x7B-v0.1", 46'702'792'704},
      {"Qwen/Qwen3-30B-A3B", 30'532'122'624},
  };
  for (const auto& [name, count] : published) {
    INFO(name);
    CHECK(parameter_count(model(name)) == count);
  }
}

TEST_CASE("a latent-attention model counts its low-rank projections") {
  // DeepSeek-V3's main model is published as 671 billion; ours leaves out one routing bias per expert.
  const double billions = static_cast<double>(parameter_count(model("deepseek-ai/DeepSeek-V3"))) / 1e9;
  CHECK(billions == Approx(671.026).margin(0.001));
}

TEST_CASE("gpt-oss counts biases and sinks, and only its experts are in 4 bits") {
  // As its model card has them: all, of experts and routers, of attention; and the checkpoint's size.
  const auto billions = [](const std::string& name) {
    return static_cast<double>(parameter_count(model(name))) / 1e9;
  };
  CHECK(billions("openai/gpt-oss-120b") == Approx(116.83).margin(0.005));
  CHECK(billions("openai/gpt-oss-20b") == Approx(20.91).margin(0.005));
  const auto gibibytes = [](const std::string& name, int tp) {
    return static_cast<double>(weight_bytes(model(name), DType::kMxfp4, tp).value) / (1 << 30);
  };
  CHECK(gibibytes("openai/gpt-oss-120b", 1) == Approx(60.8).margin(0.05));
  CHECK(gibibytes("openai/gpt-oss-20b", 1) == Approx(12.8).margin(0.05));
  CHECK(gibibytes("openai/gpt-oss-120b", 2) == Approx(60.8 / 2).margin(0.1));
  const ModelSpec m = model("openai/gpt-oss-120b");
  CHECK(m.attention_sinks);
  CHECK(m.dtype == DType::kMxfp4);
  CHECK(layer_spec(m, 0).window == 128);
  CHECK(layer_spec(m, 1).window == 0);
  CHECK(layer_spec(m, 34).window == 128);
  CHECK(layer_spec(m, 35).window == 0);
  CHECK(kv_bytes_per_token(m, DType::kBF16) == Bytes{2 * 8 * 64 * 36 * 2});
}

TEST_CASE("KV bytes per token follow MHA, GQA and MLA") {
  CHECK(kv_bytes_per_token(model("meta-llama/Llama-2-7b-hf"), DType::kF16) == Bytes{2 * 32 * 128 * 32 * 2});
  CHECK(kv_bytes_per_token(model("meta-llama/Llama-3.1-8B"), DType::kBF16) == Bytes{131'072});
  CHECK(kv_bytes_per_token(model("meta-llama/Llama-3.1-8B"), DType::kF8E4M3) == Bytes{65'536});
  CHECK(kv_bytes_per_token(model("deepseek-ai/DeepSeek-V3"), DType::kBF16) == Bytes{(512 + 64) * 61 * 2});
  ModelSpec mqa = model("meta-llama/Llama-3.1-8B");
  mqa.kv_heads = 1;
  CHECK(kv_bytes_per_token(mqa, DType::kBF16) == Bytes{16'384});
}

TEST_CASE("ranks split KV heads, repeat them when there are too few, and never split a latent") {
  const ModelSpec gqa = model("meta-llama/Llama-3.1-70B");
  CHECK(kv_bytes_per_token(gqa, DType::kBF16, 4) == Bytes{81'920});
  CHECK(kv_bytes_per_token(gqa, DType::kBF16, 16) == kv_bytes_per_token(gqa, DType::kBF16, 8));
  const ModelSpec mla = model("deepseek-ai/DeepSeek-V3");
  CHECK(kv_bytes_per_token(mla, DType::kBF16, 8) == kv_bytes_per_token(mla, DType::kBF16, 1));
}

TEST_CASE("weights take two bytes a parameter in bf16, and a rank holds its share and all norms") {
  const ModelSpec m = model("meta-llama/Llama-3.1-8B");
  CHECK(weight_bytes(m, DType::kBF16) == Bytes{2 * 8'030'261'248});
  const std::int64_t norms = (2 * 32 + 1) * 4096;
  CHECK(weight_bytes(m, DType::kBF16, 4) == Bytes{2 * ((8'030'261'248 - norms) / 4 + norms)});
}

TEST_CASE("quantised weights leave embeddings, head and norms in 16 bits") {
  const ModelSpec m = model("meta-llama/Llama-3.1-8B");
  const std::int64_t rest = 2 * 128'256 * 4096 + (2 * 32 + 1) * 4096;
  CHECK(weight_bytes(m, DType::kF8E4M3) == Bytes{8'030'261'248 - rest + 2 * rest});
  const std::int64_t matrices = 8'030'261'248 - rest;
  CHECK(weight_bytes(m, DType::kInt4G128) == Bytes{matrices / 128 * 66 + 2 * rest});
}

TEST_CASE("a KV cache turns cubic generation into quadratic") {
  ModelSpec m;
  m.layers = 2;
  m.hidden = 8;
  m.heads = 2;
  m.kv_heads = 1;
  m.head_dim = 4;
  m.intermediate = 16;
  m.vocab = 10;
  // By hand: matrices of a layer are q and o 128, k and v 64, feed-forward 384; head 80; a pair costs 4 * 8
  // FLOPs.
  const double matrices = 2 * (128 + 64 + 384);
  CHECK(generation_flops(m, 3, true) == 2 * matrices * 3 + 2 * 32 * (1 + 2 + 3) + 2 * 80 * 3);
  CHECK(generation_flops(m, 3, false) == 2 * matrices * (1 + 2 + 3) + 2 * 32 * (1 + 3 + 6) + 2 * 80 * 3);
  const double growth_with = generation_flops(m, 200'000, true) / generation_flops(m, 100'000, true);
  const double growth_without = generation_flops(m, 200'000, false) / generation_flops(m, 100'000, false);
  CHECK(growth_with == Approx(4).epsilon(0.01));
  CHECK(growth_without == Approx(8).epsilon(0.01));
}

TEST_CASE("impossible shapes are named with both numbers") {
  ModelSpec m = model("meta-llama/Llama-3.1-8B");
  m.kv_heads = 5;
  CHECK(problem_of(m) == "32 heads are no multiple of 5 kv_heads");
  m.kv_heads = 0;
  CHECK(problem_of(m) == "kv_heads is 0 with 32 heads");
  ModelSpec moe = model("mistralai/Mixtral-8x7B-v0.1");
  moe.moe.top_k = 9;
  CHECK(problem_of(moe) == "9 experts a token of 8");
}

}  // namespace
}  // namespace servetwin::spec_test
