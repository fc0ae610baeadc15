// Rounding on the bits of the float: what is cut off decides.
#include "kernels/attention/kv_elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"

namespace servetwin {
namespace {

constexpr float kLargestE4m3 = 448.0F;
constexpr float kLargestI8 = 127.0F;

// To a multiple of 2^cut, ties to even, then without the cut bits.
std::uint32_t rounded(std::uint32_t bits, int cut) {
  const std::uint32_t half = 1U << (cut - 1);
  return (bits + half - 1 + ((bits >> cut) & 1U)) >> cut;
}

// A small float: `fraction` bits of fraction below an exponent with that bias. Finite and in range.
std::uint32_t shortened(std::uint32_t magnitude, int fraction, int bias) {
  const std::uint32_t smallest = static_cast<std::uint32_t>(128 - bias) << 23U;  // that is not subnormal
  if (magnitude >= smallest) {
    return rounded(magnitude - (static_cast<std::uint32_t>(127 - bias) << 23U), 23 - fraction);
  }
  // Adding a power of two whose last bit is the smallest subnormal rounds as the processor does.
  const float unit = std::bit_cast<float>(static_cast<std::uint32_t>(128 - bias - fraction + 23) << 23U);
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + unit) -
         std::bit_cast<std::uint32_t>(unit);
}

template <class Element, class Convert>
void store_all(const float* from, std::int64_t size, void* to, std::int64_t element, Convert convert) {
  auto* out = static_cast<Element*>(to) + element;
  for (std::int64_t i = 0; i < size; ++i) out[i] = convert(from[i]);
}

float scale_of(const float* from, std::int64_t size, float largest) {
  float magnitude = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (std::isnan(from[i])) return from[i];
    magnitude = std::max(magnitude, std::fabs(from[i]));
  }
  return magnitude > 0 ? magnitude / largest : 1.0F;
}

}  // namespace

bool is_kv_dtype(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 || has_scales(type);
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  const std::uint32_t half = magnitude >= 0x477FF000U ? 0x7C00U : shortened(magnitude, 10, 15);
  return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>(rounded(bits, 16));
}

std::uint8_t float_to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 24U & 0x80U;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7FU);
  const float magnitude = std::min(std::fabs(value), kLargestE4m3);
  return static_cast<std::uint8_t>(sign | shortened(std::bit_cast<std::uint32_t>(magnitude), 3, 7));
}

void store_elements(
    DType type, const float* from, std::int64_t size, void* to, std::int64_t element, float* scale) {
  switch (type) {
    case DType::kF32:
      std::memcpy(static_cast<float*>(to) + element, from, static_cast<std::size_t>(size) * sizeof(float));
      return;
    case DType::kF16:
      return store_all<std::uint16_t>(from, size, to, element, float_to_half);
    case DType::kBF16:
      return store_all<std::uint16_t>(from, size, to, element, float_to_bfloat16);
    case DType::kF8E4M3: {
      const float unit = *scale = scale_of(from, size, kLargestE4m3);
      return store_all<std::uint8_t>(from, size, to, element,
                                     [&](float x) { return float_to_e4m3(x / unit); });
    }
    case DType::kI8: {
      const float unit = *scale = scale_of(from, size, kLargestI8);
      return store_all<std::int8_t>(from, size, to, element, [&](float x) {
        constexpr float kShift = 0x1.8p23F;  // rounds to whole numbers when it is added
        const float whole = x / unit + kShift - kShift;
        return static_cast<std::int8_t>(std::isnan(whole) ? 0.0F : whole);
      });
    }
    default:
      CHECK_INVARIANT(false, name_of(type));
  }
}

}  // namespace servetwin
