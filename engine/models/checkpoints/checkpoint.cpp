// Looks tensors up by binary search; layouts are checked in the order of offsets.
#include "engine/models/checkpoints/checkpoint.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/models/checkpoints/model_error.h"

namespace servetwin {

void check_layout(const std::string& file,
                  std::vector<TensorInfo>& tensors,
                  std::uint64_t begin,
                  std::uint64_t slack) {
  // An empty tensor comes before one that begins where it does.
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.begin, a.size) < std::pair(b.begin, b.size);
  });
  std::uint64_t expected = begin;
  const TensorInfo* previous = nullptr;
  for (const TensorInfo& tensor : tensors) {
    const std::string where = "begins at data offset " + std::to_string(tensor.begin - begin);
    const std::string due = std::to_string(expected - begin);
    if (tensor.begin < expected) {
      const std::string other = previous == nullptr ? "" : " \"" + printable(previous->name) + '"';
      fail_model(file, tensor.name,
                 {kTensorOverlap, where + ", inside tensor" + other + ", which ends at " + due});
    }
    if (tensor.begin > expected) {
      fail_model(file, tensor.name,
                 {kTensorGap, where + ", but the tensors before it end at " + due + ": bytes of no tensor"});
    }
    expected = tensor.begin + (tensor.size + slack - 1) / slack * slack;
    previous = &tensor;
  }
}

Checkpoint::Checkpoint(std::vector<ModelFile> files, std::vector<TensorInfo> tensors)
    : files_(std::move(files)), tensors_(std::move(tensors)) {
  CHECK_INVARIANT(!files_.empty());
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(std::string_view(a.name), a.file) < std::pair(std::string_view(b.name), b.file);
  });
  for (std::size_t i = 0; i + 1 < tensors_.size(); ++i) {
    if (tensors_[i].name != tensors_[i + 1].name) continue;
    fail_model(file_of(tensors_[i + 1]), tensors_[i].name,
               {kTensorTwice, "stands twice; the first is in " + file_of(tensors_[i])});
  }
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                      [](const TensorInfo& a, std::string_view b) { return a.name < b; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

TensorView Checkpoint::view(const TensorInfo& tensor) const {
  return {tensor.dtype, tensor.shape, files_[tensor.file].bytes().subspan(tensor.begin, tensor.size)};
}

std::vector<std::byte> Checkpoint::read(const TensorInfo& tensor) const {
  std::vector<std::byte> bytes(tensor.size);
  files_[tensor.file].read(tensor.begin, bytes);
  return bytes;
}

void Checkpoint::check_unchanged() const {
  for (const ModelFile& file : files_) file.check_unchanged();
}

}  // namespace servetwin
