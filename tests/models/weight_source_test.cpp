// If these fail, a model runs on weights that are not its own: of other places, orders, shapes or files.
#include "engine/models/checkpoints/weight_source.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "engine/models/checkpoints/model_error.h"
#include "tests/models/model_bytes.h"
#include "tests/support/catch.h"

namespace servetwin::weight_source_test {
namespace {

constexpr int kHidden = 32;
constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 8;
constexpr int kInner = 64;
constexpr int kVocab = 48;

struct NamedTensor {
  std::string name;
  Shape shape;
};

std::vector<NamedTensor> tensors_of(bool tied, bool biased) {
  std::vector<NamedTensor> tensors{{"model.embed_tokens.weight", {kVocab, kHidden}},
                                   {"model.norm.weight", {kHidden}}};
  if (!tied) tensors.push_back({"lm_head.weight", {kVocab, kHidden}});
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    const auto add = [&](const char* name, Shape shape) {
      tensors.push_back({std::string(layer) + name, std::move(shape)});
    };
    add("input_layernorm.weight", {kHidden});
    add("self_attn.q_proj.weight", {kHeads * kHeadDim, kHidden});
    add("self_attn.k_proj.weight", {kKvHeads * kHeadDim, kHidden});
    add("self_attn.v_proj.weight", {kKvHeads * kHeadDim, kHidden});
    if (biased) {
      add("self_attn.q_proj.bias", {kHeads * kHeadDim});
      add("self_attn.k_proj.bias", {kKvHeads * kHeadDim});
      add("self_attn.v_proj.bias", {kKvHeads * kHeadDim});
    }
    add("self_attn.o_proj.weight", {kHidden, kHeads * kHeadDim});
    add("post_attention_layernorm.weight", {kHidden});
    add("mlp.gate_proj.weight", {kInner, kHidden});
    add("mlp.up_proj.weight", {kInner, kHidden});
    add("mlp.down_proj.weight", {kHidden, kInner});
  }
  return tensors;
}

// Every element of every tensor is a number of its own.
std::vector<float> values_of(std::size_t tensor, const Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < num_elements(shape); ++i) {
    values.push_back(static_cast<float>(tensor * 10'000) + static_cast<float>(i));
  }
  return values;
}

// As converters do for architecture "llama", in their own words: [heads][2][dim / 2] becomes [heads][dim /
// 2][2].
std::vector<float> permuted(const std::vector<float>& values, int heads) {
  const std::size_t row = values.size() / static_cast<std::size_t>(heads * kHeadDim);
  std::vector<float> result;
  for (int head = 0; head < heads; ++head) {
    for (int pair = 0; pair < kHeadDim / 2; ++pair) {
      for (int half = 0; half < 2; ++half) {
        const auto from = static_cast<std::size_t>(head * kHeadDim + half * kHeadDim / 2 + pair) * row;
        for (std::size_t i = 0; i < row; ++i) result.push_back(values[from + i]);
      }
    }
  }
  return result;
}

std::string gguf_bytes(const std::string& arch, const std::vector<NamedTensor>& tensors) {
  GgufBuilder builder;
  builder.text("general.architecture", arch)
      .count(arch + ".block_count", 2)
      .count(arch + ".embedding_length", kHidden)
      .count(arch + ".feed_forward_length", kInner)
      .count(arch + ".context_length", 512)
      .count(arch + ".attention.head_count", kHeads)
      .count(arch + ".attention.head_count_kv", kKvHeads)
      .count(arch + ".vocab_size", kVocab);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> values = values_of(i, tensors[i].shape);
    const bool is_query = tensors[i].name.find("q_proj") != std::string::npos;
    const bool is_key = tensors[i].name.find("k_proj") != std::string::npos;
    if (arch == "llama" && (is_query || is_key)) values = permuted(values, is_query ? kHeads : kKvHeads);
    const std::vector<std::uint64_t> shape(tensors[i].shape.rbegin(), tensors[i].shape.rend());
    builder.tensor(gguf_tensor_name(tensors[i].name, ModelSpec{}), shape, 0, raw_floats(values));
  }
  return builder.bytes();
}

// In BF16, which holds small whole numbers exactly; values are taken modulo 128.
std::string safetensors_of(const std::vector<NamedTensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t begin = data.size();
    for (const float value : values_of(i, tensors[i].shape)) {
      data += raw(std::fmod(value, 128.0F)).substr(2);
    }
    header += (i > 0 ? ", \"" : "\"") + tensors[i].name + R"(": {"dtype": "BF16", "shape": )" +
              to_string(tensors[i].shape) + R"(, "data_offsets": [)" + std::to_string(begin) + ", " +
              std::to_string(data.size()) + "]}";
  }
  return safetensors_bytes(header + "}", data);
}

const std::string kConfig =
    R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 32,
  "intermediate_size": 64, "vocab_size": 48, "max_position_embeddings": 512, "num_attention_heads": 4,
  "num_key_value_heads": 2, "tie_word_embeddings": false})";

ModelWeights load(const ModelFolder& folder, const std::string& gguf) {
  return load_weights(open_weights(folder.write("m.gguf", gguf)));
}

std::string code(const std::string& gguf) {
  const ModelFolder folder("weights_code");
  return problem_of_reading([&] { load(folder, gguf); }).code;
}

TEST_CASE("Llama and Qwen2 weights come from GGUF in Hugging Face's order") {
  const bool is_llama = GENERATE(true, false);
  const std::vector<NamedTensor> tensors = tensors_of(is_llama, !is_llama);
  const ModelFolder folder("weights");
  const ModelWeights weights = load(folder, gguf_bytes(is_llama ? "llama" : "qwen2", tensors));
  CHECK(weights.head.empty() == is_llama);
  CHECK(floats_of(weights.embedding) == values_of(0, tensors[0].shape));
  REQUIRE(weights.layers.size() == 2);
  const LayerWeights& layer = weights.layers[1];
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto is = [&](const char* name) {
      return tensors[i].name == std::string("model.layers.1.") + name;
    };
    const std::vector<float> expected = values_of(i, tensors[i].shape);
    if (is("self_attn.q_proj.weight")) CHECK(floats_of(layer.query) == expected);
    if (is("self_attn.k_proj.weight")) CHECK(floats_of(layer.key) == expected);
    if (is("self_attn.v_proj.weight")) CHECK(floats_of(layer.value) == expected);
    if (is("self_attn.q_proj.bias")) CHECK(layer.query_bias == expected);
    if (is("self_attn.k_proj.bias")) CHECK(layer.key_bias == expected);
    if (is("self_attn.o_proj.weight")) CHECK(floats_of(layer.output) == expected);
    if (is("mlp.down_proj.weight")) CHECK(floats_of(layer.dense.down) == expected);
    if (is("post_attention_layernorm.weight")) CHECK(layer.feed_forward_norm == expected);
  }
}

TEST_CASE("the order of rotated rows is the inverse of the converter's, for biases too") {
  std::vector<float> rows;
  for (int i = 0; i < kHeads * kHeadDim; ++i) rows.push_back(static_cast<float>(i));
  const std::vector<float> stored = permuted(rows, kHeads);
  const RotatedRows order{kHeadDim};
  for (std::int64_t row = 0; row < kHeads * kHeadDim; ++row) {
    CHECK(stored[static_cast<std::size_t>(order.gguf_row(row))] == static_cast<float>(row));
  }
  const ModelFolder folder("biases");
  const WeightSource source =
      open_weights(folder.write("m.gguf", gguf_bytes("llama", tensors_of(true, true))));
  const std::vector<float> bias = source.load("model.layers.0.self_attn.q_proj.bias", {kHeads * kHeadDim});
  CHECK(bias[1] == bias[0] + 1);
}

TEST_CASE("a matrix as it is stored has the rows that loading in f32 gives") {
  const ModelFolder folder("stored");
  const WeightSource source =
      open_weights(folder.write("m.gguf", gguf_bytes("llama", tensors_of(true, false))));
  const std::string name = "model.layers.0.self_attn.k_proj.weight";
  const Shape shape{kKvHeads * kHeadDim, kHidden};
  const std::vector<float> values = source.load(name, shape);
  CHECK(source.load_matrix(name, shape) == f32_matrix(shape[0], shape[1], values));
}

TEST_CASE("a folder of safetensors with its config.json is loaded") {
  const std::vector<NamedTensor> tensors = tensors_of(false, false);
  const ModelFolder folder("folder");
  folder.write("config.json", kConfig);
  folder.write("model.safetensors", safetensors_of(tensors));
  const ModelWeights weights = load_weights(open_weights(folder.path()));
  CHECK(floats_of(weights.layers[0].query)[130] == std::fmod(values_of(4, tensors[4].shape)[130], 128.0F));
  CHECK(weights.head.size() == kVocab * kHidden);
}

TEST_CASE("weights of another shape than the configuration says are refused with both") {
  const ModelFolder folder("shape");
  std::string config = kConfig;
  config.replace(config.find("\"vocab_size\": 48"), 16, "\"vocab_size\": 50");
  folder.write("config.json", config);
  folder.write("model.safetensors", safetensors_of(tensors_of(false, false)));
  const Problem problem = problem_of_reading([&] { load_weights(open_weights(folder.path())); });
  CHECK(problem.code == std::string(kTensorShape));
  CHECK(problem.path == "model.embed_tokens.weight");
  CHECK(mentions(problem, "[48, 32]"));
  CHECK(mentions(problem, "[50, 32]"));
}

TEST_CASE("a tensor that is missing, and one that nothing would use, are refused by name") {
  std::vector<NamedTensor> tensors = tensors_of(true, false);
  tensors.pop_back();
  CHECK(code(gguf_bytes("llama", tensors)) == kTensorAbsent);
  tensors = tensors_of(true, false);
  tensors.push_back({"model.layers.0.self_attn.q_norm.weight", {kHeadDim}});
  CHECK(code(gguf_bytes("llama", tensors)) == kModelFamily);
  tensors.back() = {"model.layers.2.mlp.up_proj.weight", {kInner, kHidden}};
  CHECK(code(gguf_bytes("llama", tensors)) == kModelFamily);
  CHECK(code(gguf_bytes("qwen3", tensors_of(true, false))) == kModelFamily);
}

TEST_CASE("weights in a format that is not computed with are refused by name") {
  const ModelFolder folder("format");
  const std::string bytes = GgufBuilder().tensor("w", {256}, 10, std::string(84, '\0')).bytes();
  GgufFile gguf = open_gguf(folder.write("m.gguf", bytes));
  const WeightSource source(std::nullopt, std::move(gguf.checkpoint), ModelSpec{});
  const Problem problem = problem_of_reading([&] { source.load("w", {256}); });
  CHECK(problem.code == std::string(kTensorFormat));
  CHECK(mentions(problem, "Q2_K"));
}

TEST_CASE("NaN and infinity in weights are found, each tensor with its first") {
  const ModelFolder folder("finite");
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string bytes = GgufBuilder()
                                .tensor("a", {4}, 0, raw_floats({1, NAN, 3, NAN}))
                                .tensor("b", {4}, 0, raw_floats({1, 2, 3, 4}))
                                .tensor("c", {4}, 0, raw_floats({1, 2, 3, -infinity}))
                                .bytes();
  const GgufFile gguf = open_gguf(folder.write("m.gguf", bytes));
  try {
    check_finite(gguf.checkpoint);
    FAIL("was accepted");
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 2);
    CHECK(error.problems()[0].message == "element 1 is NaN");
    CHECK(error.problems()[1].path == "c");
    CHECK(error.problems()[1].code == std::string(kTensorNotFinite));
  }
  const GgufFile good =
      open_gguf(folder.write("g.gguf", GgufBuilder().tensor("b", {1}, 0, raw(1.0F)).bytes()));
  CHECK(check_finite(good.checkpoint) == 1);
}

TEST_CASE("names outside the families have no GGUF name") {
  CHECK(gguf_tensor_name("model.layers.12.mlp.up_proj.weight", ModelSpec{}) == "blk.12.ffn_up.weight");
  for (const char* name : {"", "model.layers.", "model.layers..mlp.up_proj.weight", "model.layers.1",
                           "model.layers.1.x", "model.layers.x.mlp.up_proj.weight", "lm_head.bias"}) {
    CHECK(gguf_tensor_name(name, ModelSpec{}).empty());
  }
}

}  // namespace
}  // namespace servetwin::weight_source_test
