// If these fail, a model's rotary embedding or norm differs from what its config.json says.
#include "engine/models/computable.h"
#include "engine/models/config_json.h"
#include "engine/models/weights.h"
#include "tests/support/catch.h"

namespace servetwin::rope_test {
namespace {

ModelSpec with(const std::string& fields) {
  return parse_model_config(
      R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 9,
          "num_attention_heads": 4, "intermediate_size": 96, "max_position_embeddings": 512)" +
          fields + "}",
      "config.json");
}

TEST_CASE("rotary embeddings and the norm's epsilon are read, under the names of old and new configs") {
  CHECK(with("").rope.type == RopeType::kDefault);
  CHECK(with("").rope.theta == 10'000);
  CHECK(with(R"(, "rope_scaling": null)").rope.type == RopeType::kDefault);
  const ModelSpec llama =
      with(R"(, "rms_norm_eps": 1e-06, "rope_theta": 500000.0, "rope_scaling": {"factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
      "rope_type": "llama3"})");
  CHECK(llama.norm_epsilon == 1e-6);
  CHECK(llama.rope.type == RopeType::kLlama3);
  CHECK(llama.rope.theta == 500'000);
  CHECK(llama.rope.factor == 8);
  CHECK(llama.rope.original_max_position == 8192);
  CHECK(with(R"(, "rope_scaling": {"type": "linear", "factor": 2})").rope.type == RopeType::kLinear);
  const ModelSpec newer =
      with(R"(, "rope_parameters": {"rope_type": "yarn", "rope_theta": 7.5, "factor": 4})");
  CHECK(newer.rope.type == RopeType::kYarn);
  CHECK(newer.rope.theta == 7.5);
}

TEST_CASE("a rotary embedding that is not known cannot run, and says its name; bad figures are refused") {
  const ModelSpec spiral = with(R"(, "rope_scaling": {"type": "spiral", "factor": 2})");
  CHECK(spiral.rope.type == RopeType::kOther);
  CHECK(why_not_computed(spiral).find("spiral") != std::string::npos);
  CHECK_THROWS(with(R"(, "rope_theta": -1)"));
  CHECK_THROWS(with(R"(, "rms_norm_eps": "small")"));
  CHECK_THROWS(with(R"(, "rope_scaling": 3)"));
}

TEST_CASE("random weights are a function of seed and shape, and have them") {
  const ModelSpec spec = with("");
  const ModelWeights one = random_weights(spec, 1);
  const ModelWeights again = random_weights(spec, 1);
  const ModelWeights other = random_weights(spec, 2);
  std::int64_t count = 0;
  const auto add = [&count](const auto& weights) { count += static_cast<std::int64_t>(weights.size()); };
  for (const LayerWeights& layer : one.layers) {
    for (const StoredMatrix* matrix : {&layer.query, &layer.key, &layer.value, &layer.output,
                                       &layer.dense.gate, &layer.dense.up, &layer.dense.down}) {
      add(*matrix);
    }
    add(layer.attention_norm);
    add(layer.feed_forward_norm);
  }
  add(one.embedding);
  add(one.final_norm);
  add(one.head);
  CHECK(count == parameter_count(spec));
  CHECK(one.layers[1].dense.down == again.layers[1].dense.down);
  CHECK(one.layers[1].dense.down != other.layers[1].dense.down);
  CHECK(one.layers[0].dense.gate != one.layers[0].dense.up);
}

}  // namespace
}  // namespace servetwin::rope_test
