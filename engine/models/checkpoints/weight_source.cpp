// Tensors are copied out of their file before they are used, so that a file that is cut meanwhile is an
// error.
#include "engine/models/checkpoints/weight_source.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/base/dequantise.h"
#include "engine/base/error.h"
#include "engine/models/checkpoints/gguf_spec.h"
#include "engine/models/checkpoints/model_error.h"
#include "engine/models/checkpoints/safetensors.h"
#include "engine/models/config_json.h"

namespace servetwin {
namespace {

void require_computable(const std::string& file, const TensorInfo& tensor) {
  if (can_dequantise(tensor.dtype)) return;
  fail_model(file, tensor.name,
             {kTensorFormat, std::string("is in ") + name_of(tensor.dtype) + ", which is not computed with",
              "use F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K"});
}

Weights values_of(const Checkpoint& checkpoint, const TensorInfo& tensor) {
  Weights values(static_cast<std::size_t>(num_elements(tensor.shape)));
  dequantise(tensor.dtype, checkpoint.read(tensor), values);
  return values;
}

}  // namespace

Weights WeightSource::load(const std::string& name, const Shape& shape) const {
  if (shape.size() != 1) return floats_of(load_matrix(name, shape));
  Weights values = values_of(checkpoint_, required(name, shape));
  // The rows of a vector are its elements, as far as the order of rotated rows goes.
  const std::vector<std::size_t> order = row_order(name, shape.front());
  const Weights stored = values;
  for (std::size_t i = 0; i < order.size(); ++i) values[i] = stored[order[i]];
  return values;
}

StoredMatrix WeightSource::load_matrix(const std::string& name, const Shape& shape) const {
  const TensorInfo& tensor = required(name, shape);
  const StoredMatrix stored{tensor.dtype, num_rows(shape), row_length(shape), checkpoint_.read(tensor)};
  const std::vector<std::size_t> order = row_order(name, stored.rows);
  if (order.empty()) return stored;
  std::vector<std::byte> bytes;
  bytes.reserve(stored.bytes.size());
  for (const std::size_t from : order) {
    const std::byte* row = stored.view().row(static_cast<std::int64_t>(from));
    bytes.insert(bytes.end(), row, row + stored.view().row_bytes());
  }
  return {stored.dtype, stored.rows, stored.columns, std::move(bytes)};
}

std::string WeightSource::stored_name(const std::string& name) const {
  return metadata_ ? gguf_tensor_name(name, spec_) : name;
}

const TensorInfo& WeightSource::required(const std::string& name, const Shape& shape) const {
  const std::string stored = stored_name(name);
  const TensorInfo* tensor = checkpoint_.find(stored);
  if (tensor == nullptr) {
    fail_model(checkpoint_.first_file(), stored.empty() ? name : stored,
               {kTensorAbsent, "the model needs this tensor, and the checkpoint has none"});
  }
  if (tensor->shape == shape) {
    require_computable(checkpoint_.file_of(*tensor), *tensor);
    return *tensor;
  }
  fail_model(
      checkpoint_.file_of(*tensor), stored,
      {kTensorShape, "has the shape " + to_string(tensor->shape) + ", the model's is " + to_string(shape),
       "the configuration is of another model than the weights"});
}

std::vector<std::size_t> WeightSource::row_order(const std::string& name, std::int64_t rows) const {
  if (!metadata_) return {};
  const auto rotated = gguf_row_order(*metadata_->text("general.architecture"), name, spec_);
  std::vector<std::size_t> order;
  for (std::int64_t row = 0; rotated && row < rows; ++row) {
    order.push_back(static_cast<std::size_t>(rotated->gguf_row(row)));
  }
  return order;
}

WeightSource open_weights(const std::string& file_or_folder) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_or_folder, ignored)) {
    ModelSpec spec = read_model_folder(file_or_folder);
    return {std::nullopt, open_safetensors_folder(file_or_folder), std::move(spec)};
  }
  GgufFile gguf = open_gguf(file_or_folder);
  ModelSpec spec = gguf_model_spec(gguf);
  return {std::move(gguf.metadata), std::move(gguf.checkpoint), std::move(spec)};
}

std::int64_t check_finite(const Checkpoint& checkpoint) {
  std::int64_t checked = 0;
  std::vector<Problem> problems;
  for (const TensorInfo& tensor : checkpoint.tensors()) {
    if (!can_dequantise(tensor.dtype)) continue;
    ++checked;
    const Weights values = values_of(checkpoint, tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      problems.push_back(
          {kTensorNotFinite,
           {checkpoint.file_of(tensor), 0, 0},
           printable(tensor.name),
           "element " + std::to_string(i) + (std::isnan(values[i]) ? " is NaN" : " is infinite"),
           "the weights are damaged: use another file"});
      break;
    }
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return checked;
}

}  // namespace servetwin
