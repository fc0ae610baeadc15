// Number formats of weights and caches, including quantised blocks, with their exact sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/unit_text.h"
#include "engine/base/units.h"

namespace servetwin {

enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kI4,
  kMxfp4,     // 32 elements share an 8-bit scale
  kNvfp4,     // 16 elements share an f8e4m3 scale
  kInt4G128,  // 128 elements share an f16 scale (GPTQ and AWQ, symmetric)
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,  // GGUF
};

// How elements are stored: `block_elements` of one row take `block_bytes`, scales included.
struct BlockLayout {
  const char* name;
  int block_elements;
  int block_bytes;
};

BlockLayout layout_of(DType type);
inline const char* name_of(DType type) { return layout_of(type).name; }

// Bits an element takes with its share of the block's scales; exact.
double bits_per_element(DType type);

// Names in any case, and the usual others: bfloat16, float16, fp8, int4, …
std::optional<DType> dtype_from_name(const std::string& name);
std::vector<std::string> dtype_names();

// Bytes of `num_rows` rows of `row_length` elements (the dimension that is contiguous in memory). A row that
// is not a whole number of blocks cannot be stored in that format, and is refused.
Parsed<Bytes> tensor_bytes(DType type, std::int64_t row_length, std::int64_t num_rows);

// Bytes of `count` elements, scales included, rounded up to whole blocks: for sizes where rows do not matter.
Bytes bytes_of(DType type, std::int64_t count);

}  // namespace servetwin
