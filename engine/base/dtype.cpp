// Sizes of number formats; block layouts are those of ggml's file format and of the OCP MX specification.
#include "engine/base/dtype.h"

#include <array>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

// In the order of DType. A GGUF K block holds 256 elements with 6- or 4-bit sub-scales and f16 super-scales.
constexpr std::array kLayouts = {
    BlockLayout{"f64", 1, 8},      BlockLayout{"f32", 1, 4},      BlockLayout{"f16", 1, 2},
    BlockLayout{"bf16", 1, 2},     BlockLayout{"f8e4m3", 1, 1},   BlockLayout{"f8e5m2", 1, 1},
    BlockLayout{"i64", 1, 8},      BlockLayout{"i32", 1, 4},      BlockLayout{"i16", 1, 2},
    BlockLayout{"i8", 1, 1},       BlockLayout{"u8", 1, 1},       BlockLayout{"i4", 2, 1},
    BlockLayout{"mxfp4", 32, 17},  BlockLayout{"nvfp4", 16, 9},   BlockLayout{"int4_g128", 128, 66},
    BlockLayout{"Q4_0", 32, 18},   BlockLayout{"Q4_1", 32, 20},   BlockLayout{"Q5_0", 32, 22},
    BlockLayout{"Q5_1", 32, 24},   BlockLayout{"Q8_0", 32, 34},   BlockLayout{"Q2_K", 256, 84},
    BlockLayout{"Q3_K", 256, 110}, BlockLayout{"Q4_K", 256, 144}, BlockLayout{"Q5_K", 256, 176},
    BlockLayout{"Q6_K", 256, 210},
};
static_assert(kLayouts.size() == static_cast<std::size_t>(DType::kQ6_K) + 1);

constexpr std::array<std::pair<const char*, DType>, 16> kAliases = {{
    {"float64", DType::kF64},
    {"float32", DType::kF32},
    {"fp32", DType::kF32},
    {"float", DType::kF32},
    {"float16", DType::kF16},
    {"fp16", DType::kF16},
    {"half", DType::kF16},
    {"bfloat16", DType::kBF16},
    {"fp8", DType::kF8E4M3},
    {"fp8_e4m3", DType::kF8E4M3},
    {"float8_e4m3fn", DType::kF8E4M3},
    {"fp8_e5m2", DType::kF8E5M2},
    {"float8_e5m2", DType::kF8E5M2},
    {"int8", DType::kI8},
    {"uint8", DType::kU8},
    {"int4", DType::kI4},
}};

std::string lower(const std::string& text) {
  std::string result;
  for (const char c : text) result += lower_case(c);
  return result;
}

}  // namespace

BlockLayout layout_of(DType type) { return kLayouts[static_cast<std::size_t>(type)]; }

double bits_per_element(DType type) {
  const BlockLayout layout = layout_of(type);
  return 8.0 * layout.block_bytes / layout.block_elements;
}

std::optional<DType> dtype_from_name(const std::string& name) {
  const std::string wanted = lower(name);
  for (std::size_t i = 0; i < kLayouts.size(); ++i) {
    if (lower(kLayouts[i].name) == wanted) return static_cast<DType>(i);
  }
  for (const auto& [alias, type] : kAliases) {
    if (alias == wanted) return type;
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const BlockLayout& layout : kLayouts) names.emplace_back(layout.name);
  for (const auto& alias : kAliases) names.emplace_back(alias.first);
  return names;
}

Parsed<Bytes> tensor_bytes(DType type, std::int64_t row_length, std::int64_t num_rows) {
  CHECK_INVARIANT(row_length >= 0, row_length);
  CHECK_INVARIANT(num_rows >= 0, num_rows);
  const BlockLayout layout = layout_of(type);
  if (row_length % layout.block_elements != 0) {
    return {std::nullopt,
            "a row of " + std::to_string(row_length) + " elements cannot be " + layout.name +
                ", whose blocks hold " + std::to_string(layout.block_elements) + " elements",
            "use a type with smaller blocks for this tensor"};
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(row_length / layout.block_elements, layout.block_bytes, &bytes) ||
      __builtin_mul_overflow(bytes, num_rows, &bytes)) {
    return {
        std::nullopt,
        std::to_string(num_rows) + " rows of " + std::to_string(row_length) + " elements exceed 2^63 bytes",
        "check the shape"};
  }
  return {Bytes{bytes}, {}, {}};
}

Bytes bytes_of(DType type, std::int64_t count) {
  const BlockLayout layout = layout_of(type);
  return Bytes{ceil_div(count, layout.block_elements) * layout.block_bytes};
}

}  // namespace servetwin
