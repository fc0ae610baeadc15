// Formats in which a KV cache keeps its elements.
#pragma once

#include <cstdint>

#include "engine/base/dtype.h"

namespace servetwin {

// F32, F16, BF16; I8 and F8_E4M3, whose vectors have a scale each: the largest magnitude over 127 or 448.
bool is_kv_dtype(DType type);
inline constexpr const char* kKvDtypeNames = "f32, f16, bf16, i8 or f8e4m3";
constexpr bool has_scales(DType type) { return type == DType::kI8 || type == DType::kF8E4M3; }

// To nearest, ties to even. NaN stays NaN; what is too large for f16 becomes infinite, for e4m3 (which has no
// infinity) 448.
std::uint16_t float_to_half(float value);
std::uint16_t float_to_bfloat16(float value);
std::uint8_t float_to_e4m3(float value);

// Writes a vector of `size` elements from index `element` on. Where the format has scales, `scale` is set: to
// NaN if the vector holds one.
void store_elements(
    DType type, const float* from, std::int64_t size, void* to, std::int64_t element, float* scale);

}  // namespace servetwin
