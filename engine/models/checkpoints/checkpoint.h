// An open checkpoint: files and the table of their tensors, every one of them validated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/models/checkpoints/model_file.h"
#include "engine/models/checkpoints/tensor.h"

namespace servetwin {

// The bytes that a reader has found to belong to tensors. Throws ConfigError unless every tensor is whole and
// no byte belongs to two; what may lie between them differs by format and is `slack`: spans are rounded up to
// multiples of it.
void check_layout(const std::string& file,
                  std::vector<TensorInfo>& tensors,
                  std::uint64_t begin,
                  std::uint64_t slack);

class Checkpoint {
 public:
  // Sorts the tensors by name. Throws ConfigError when a name stands twice.
  Checkpoint(std::vector<ModelFile> files, std::vector<TensorInfo> tensors);

  // By name.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // Null when there is none.
  const TensorInfo* find(std::string_view name) const;
  const std::string& file_of(const TensorInfo& tensor) const { return files_[tensor.file].path(); }
  // What to name when something is missing from the whole of it.
  const std::string& first_file() const { return files_.front().path(); }

  // Straight from the mapping; valid as long as the checkpoint.
  TensorView view(const TensorInfo& tensor) const;
  // A copy that cannot end the process when the file is cut meanwhile.
  std::vector<std::byte> read(const TensorInfo& tensor) const;
  void check_unchanged() const;

 private:
  std::vector<ModelFile> files_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace servetwin
