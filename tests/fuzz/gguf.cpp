// Any bytes are a GGUF file, or an error with a code: tensors that are taken lie inside the file, apart.
#include "engine/models/checkpoints/gguf.h"

#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/dequantise.h"
#include "engine/base/error.h"

namespace {

using servetwin::ByteSpan;
using servetwin::TensorInfo;

void read_values(ByteSpan bytes, const TensorInfo& tensor) {
  if (!servetwin::can_dequantise(tensor.dtype)) return;
  std::vector<float> values(static_cast<std::size_t>(servetwin::num_elements(tensor.shape)));
  servetwin::dequantise(tensor.dtype, bytes.subspan(tensor.begin, tensor.size), values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  try {
    std::uint64_t end = 0;
    for (const TensorInfo& tensor : servetwin::read_gguf_table(bytes, "input").tensors) {
      CHECK_INVARIANT(tensor.begin >= end, tensor.begin, end);
      end = tensor.begin + tensor.size;
      CHECK_INVARIANT(end <= bytes.size(), end, bytes.size());
      read_values(bytes, tensor);
    }
  } catch (const servetwin::ConfigError& error) {
    CHECK_INVARIANT(!error.problems().front().code.empty());
  }
  return 0;
}
