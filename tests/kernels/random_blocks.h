// Weights in any stored format, of random bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/rng.h"

namespace servetwin {

// Random bits, with f16 scales that are no NaN.
inline std::vector<std::byte> random_blocks(DType type, std::int64_t elements) {
  const BlockLayout layout = layout_of(type);
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < elements / layout.block_elements * layout.block_bytes; ++i) {
    bytes.push_back(
        static_cast<std::byte>(draw_u64({8, Stream::kTest, 1}, static_cast<std::uint32_t>(i)) & 255U));
  }
  const auto step = static_cast<std::size_t>(layout.block_bytes);
  const std::size_t size = type == DType::kF32 ? 4 : 2;
  for (std::size_t block = 0; block < bytes.size(); block += step) {
    const auto calm = [&](std::size_t at) { bytes[block + at] &= std::byte{0x3B}; };
    if (type == DType::kQ6_K) {
      calm(209);
      continue;
    }
    calm(size - 1);
    const bool has_minimum = type == DType::kQ4_1 || type == DType::kQ5_1 || layout.block_elements == 256;
    if (has_minimum) calm(3);
  }
  return bytes;
}

}  // namespace servetwin
