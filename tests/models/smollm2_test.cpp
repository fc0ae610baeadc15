// If these fail, a real checkpoint as people download it cannot be loaded, or is loaded wrongly.
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/dequantise.h"
#include "engine/models/checkpoints/weight_source.h"
#include "tests/support/catch.h"
#include "tests/support/smollm2_file.h"

namespace servetwin::smollm2_test {
namespace {

std::string bits_sum(const std::vector<float>& values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += (i + 1) * std::bit_cast<std::uint32_t>(values[i]);
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; sum >>= 4U) text[i] = "0123456789abcdef"[sum & 15U];
  return text;
}

TEST_CASE("SmolLM2-135M's metadata give the published shapes") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  const WeightSource source = open_weights(file);
  const ModelSpec& m = source.spec();
  CHECK(m.arch == "LlamaForCausalLM");
  CHECK(m.layers == 30);
  CHECK(m.hidden == 576);
  CHECK(m.heads == 9);
  CHECK(m.kv_heads == 3);
  CHECK(m.head_dim == 64);
  CHECK(m.intermediate == 1536);
  CHECK(m.vocab == 49152);
  CHECK(m.max_position == 8192);
  CHECK(m.rope.theta == 100'000);
  CHECK(m.tied_embeddings);
  CHECK(m.dtype == DType::kQ4_1);
  CHECK(parameter_count(m) == 134'515'008);
  CHECK(source.metadata()->texts("tokenizer.ggml.tokens")->size() == 49152);
  CHECK(source.metadata()->texts("tokenizer.ggml.merges")->size() == 48900);
}

TEST_CASE("every tensor of SmolLM2-135M has the bits that llama.cpp's own package gives", "[slow]") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/smollm2_tensors.json");
  const nlohmann::json expected = nlohmann::json::parse(in);
  const WeightSource source = open_weights(file);
  const Checkpoint& checkpoint = source.checkpoint();
  REQUIRE(checkpoint.tensors().size() == expected.size());
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    CAPTURE(tensor.name);
    const nlohmann::json& row = expected.at(tensor.name);
    CHECK(dtype_from_name(row.at("type").get<std::string>()) == tensor.dtype);
    CHECK(row.at("shape").get<Shape>() == tensor.shape);
    std::vector<float> values(static_cast<std::size_t>(num_elements(tensor.shape)));
    dequantise(tensor.dtype, checkpoint.view(tensor).bytes, values);
    CHECK(bits_sum(values) == row.at("sum").get<std::string>());
  }
}

TEST_CASE("SmolLM2-135M loads whole, finite, with nothing left over", "[slow]") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  const WeightSource source = open_weights(file);
  CHECK(check_finite(source.checkpoint()) == 272);
  const ModelWeights weights = load_weights(source);
  CHECK(weights.layers.size() == 30);
  CHECK(weights.head.empty());
  CHECK(weights.layers[29].dense.down.size() == 576 * 1536);
}

}  // namespace
}  // namespace servetwin::smollm2_test
