// Any bytes are a safetensors file, or an error with a code: tensors that are taken lie inside the file,
// apart.
#include "engine/models/checkpoints/safetensors.h"

#include <cstdint>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace {

using servetwin::ByteSpan;

void read_file(ByteSpan bytes) {
  try {
    std::uint64_t end = 0;
    for (const servetwin::TensorInfo& tensor : servetwin::read_safetensors_header(bytes, "input").tensors) {
      CHECK_INVARIANT(tensor.begin >= end, tensor.begin, end);
      end = tensor.begin + tensor.size;
      CHECK_INVARIANT(end <= bytes.size(), end, bytes.size());
    }
  } catch (const servetwin::ConfigError& error) {
    CHECK_INVARIANT(!error.problems().front().code.empty());
  }
}

void read_index(ByteSpan bytes) {
  try {
    servetwin::read_shard_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input");
  } catch (const servetwin::ConfigError& error) {
    CHECK_INVARIANT(!error.problems().front().code.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  read_file(bytes);
  read_index(bytes);
  return 0;
}
