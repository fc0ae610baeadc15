// Draws tensors one by one.
#include "engine/models/weights.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>

#include "engine/base/dequantise.h"
#include "engine/base/rng.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kTensorsPerLayer = 16;

class TensorMaker {
 public:
  explicit TensorMaker(std::uint64_t seed) : seed_(seed) {}

  Weights uniform(std::uint64_t tensor, std::int64_t size, double centre, double spread) const {
    Weights values(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double unit = draw_unit({seed_, Stream::kWeights, tensor}, static_cast<std::uint32_t>(i));
      values[i] = static_cast<float>(centre + (2.0 * unit - 1.0) * spread);
    }
    return values;
  }

  Weights norm(std::uint64_t tensor, std::int64_t size) const { return uniform(tensor, size, 1.0, 0.1); }

  StoredMatrix matrix(std::uint64_t tensor, std::int64_t outputs, std::int64_t inputs) const {
    return matrix(tensor, outputs, inputs, std::sqrt(3.0 / static_cast<double>(inputs)));
  }
  StoredMatrix matrix(std::uint64_t tensor, std::int64_t rows, std::int64_t columns, double spread) const {
    return f32_matrix(rows, columns, uniform(tensor, rows * columns, 0.0, spread));
  }

 private:
  std::uint64_t seed_;
};

LlamaLayer random_layer(const ModelSpec& spec, const TensorMaker& make, std::uint64_t first) {
  const std::int64_t width = spec.heads * spec.head_dim;
  const std::int64_t kv_width = spec.kv_heads * spec.head_dim;
  LlamaLayer layer;
  layer.input_norm = make.norm(first, spec.hidden);
  layer.query = make.matrix(first + 1, width, spec.hidden);
  layer.key = make.matrix(first + 2, kv_width, spec.hidden);
  layer.value = make.matrix(first + 3, kv_width, spec.hidden);
  if (spec.qkv_bias) {
    layer.query_bias = make.uniform(first + 4, width, 0.0, 0.1);
    layer.key_bias = make.uniform(first + 5, kv_width, 0.0, 0.1);
    layer.value_bias = make.uniform(first + 6, kv_width, 0.0, 0.1);
  }
  layer.output = make.matrix(first + 7, spec.hidden, width);
  layer.post_norm = make.norm(first + 8, spec.hidden);
  layer.gate = make.matrix(first + 9, spec.intermediate, spec.hidden);
  layer.up = make.matrix(first + 10, spec.intermediate, spec.hidden);
  layer.down = make.matrix(first + 11, spec.hidden, spec.intermediate);
  return layer;
}

}  // namespace

StoredMatrix f32_matrix(std::int64_t rows, std::int64_t columns, const Weights& values) {
  StoredMatrix matrix{DType::kF32, rows, columns, std::vector<std::byte>(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(matrix.bytes.data(), values.data(), matrix.bytes.size());
  return matrix;
}

Weights floats_of(const StoredMatrix& matrix) {
  Weights values(static_cast<std::size_t>(matrix.size()));
  dequantise(matrix.dtype, matrix.bytes, values);
  return values;
}

LlamaWeights random_llama_weights(const ModelSpec& spec, std::uint64_t seed) {
  const TensorMaker make(seed);
  LlamaWeights weights;
  weights.embedding = make.matrix(0, spec.vocab, spec.hidden, 1.0);
  weights.final_norm = make.norm(1, spec.hidden);
  if (!spec.tied_embeddings) weights.head = make.matrix(2, spec.vocab, spec.hidden);
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::uint64_t first = (static_cast<std::uint64_t>(layer) + 1) * kTensorsPerLayer;
    weights.layers.push_back(random_layer(spec, make, first));
  }
  return weights;
}

std::string why_not_llama(const ModelSpec& spec) {
  const auto starts = [&](const char* family) { return spec.arch.rfind(family, 0) == 0; };
  if (!starts("Llama") && !starts("Qwen2For")) return "architecture " + spec.arch + " is not supported yet";
  if (spec.is_moe()) return "mixture of experts is not supported yet";
  if (spec.is_mla()) return "multi-head latent attention is not supported yet";
  if (spec.qk_norm) return "norms of queries and keys are not supported yet";
  if (spec.sliding_window) return "sliding windows are not supported yet";
  if (spec.rope.type == RopeType::kOther) return "rope_type " + spec.rope.type_name + " is not known";
  if (spec.heads % spec.kv_heads != 0) return "the heads are no multiple of the KV heads";
  return "";
}

}  // namespace servetwin
