// From stored numbers, GGUF blocks among them, to f32: the meaning that every kernel on such weights shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/dtype.h"

namespace servetwin {

// Exact: every f16 and bf16 is a float.
float half_to_float(std::uint16_t bits);
float bfloat16_to_float(std::uint16_t bits);

// F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K.
bool can_dequantise(DType type);

// Whole blocks: `blocks` holds exactly values.size() elements of `type`. The products are those of ggml, in
// its order, in f32, so the results have the same bits as the reference's.
void dequantise(DType type, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace servetwin
