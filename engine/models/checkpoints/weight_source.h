// The weights of one model, from safetensors or GGUF, by Hugging Face names and in Hugging Face's order.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/models/checkpoints/gguf.h"
#include "engine/models/checkpoints/tensor_names.h"
#include "engine/models/spec.h"
#include "engine/models/weights.h"

namespace servetwin {

class WeightSource {
 public:
  // `metadata` is that of a GGUF file; without, the tensors bear Hugging Face names.
  WeightSource(std::optional<GgufMetadata> metadata, Checkpoint checkpoint, ModelSpec spec)
      : metadata_(std::move(metadata)), checkpoint_(std::move(checkpoint)), spec_(std::move(spec)) {}

  const ModelSpec& spec() const { return spec_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  // Null for safetensors. Tokenizer and chat template are in there, too.
  const GgufMetadata* metadata() const { return metadata_ ? &*metadata_ : nullptr; }

  // The name in the file, for a Hugging Face name; empty where GGUF has none for it.
  std::string stored_name(const std::string& name) const;
  bool has(const std::string& name) const { return checkpoint_.find(stored_name(name)) != nullptr; }

  // A tensor in f32. Throws ConfigError when it is absent, has another shape than asked for (both are named),
  // is in a format that is not computed with, or the file changed.
  Weights load(const std::string& name, const Shape& shape) const;

  // A matrix in the format in which it is stored, its rows in Hugging Face's order. Throws as `load` does.
  StoredMatrix load_matrix(const std::string& name, const Shape& shape) const;

 private:
  // A tensor of that shape, in a format that is computed with.
  const TensorInfo& required(const std::string& name, const Shape& shape) const;
  // Where row `row` of a tensor is in the file, for every row.
  std::vector<std::size_t> row_order(const std::string& name, std::int64_t rows) const;

  std::optional<GgufMetadata> metadata_;
  Checkpoint checkpoint_;
  ModelSpec spec_;
};

// A GGUF file, or a folder with config.json and safetensors. Throws ConfigError unless its shapes can be read
// and its files are whole.
WeightSource open_weights(const std::string& file_or_folder);

// All weights of a model that is computed (computable.h). Throws ConfigError by name for other families, for
// tensors that are absent or of the wrong shape, and for tensors that the model would not use.
ModelWeights load_weights(const WeightSource& source);

// The first value of each tensor that is NaN or infinite, as problems of one ConfigError; returns how many
// tensors were read. Tensors in formats that are not computed with are passed over.
std::int64_t check_finite(const Checkpoint& checkpoint);

}  // namespace servetwin
