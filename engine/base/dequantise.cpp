// Block layouts are those of ggml's file format: f16 scales first (Q6_K: last), then packed bits.
#include "engine/base/dequantise.h"

#include <bit>
#include <cstring>

#include "engine/base/check.h"

namespace servetwin {
namespace {

constexpr int kSubBlock = 32;

std::uint8_t byte_at(const std::byte* data, int index) { return std::to_integer<std::uint8_t>(data[index]); }

template <class T>
T load(const std::byte* data) {
  T value{};
  std::memcpy(&value, data, sizeof value);
  return value;
}

float half_at(const std::byte* data) { return half_to_float(load<std::uint16_t>(data)); }

float f32_block(const std::byte* data) { return load<float>(data); }

float bf16_block(const std::byte* data) { return bfloat16_to_float(load<std::uint16_t>(data)); }

// Nibbles: the low ones are the first half of the block, the high ones the second. The fifth bits, where
// there are any, are one 32-bit word in the order of elements.
template <bool has_minimum, bool has_fifth_bit>
void small_block(const std::byte* block, float* values) {
  const float scale = half_at(block);
  const std::byte* rest = block + 2;
  float minimum = 0;
  if constexpr (has_minimum) {
    minimum = half_at(rest);
    rest += 2;
  }
  std::uint32_t fifth = 0;
  if constexpr (has_fifth_bit) {
    fifth = load<std::uint32_t>(rest);
    rest += 4;
  }
  constexpr int kCentre = has_minimum ? 0 : (has_fifth_bit ? 16 : 8);
  for (int i = 0; i < kSubBlock; ++i) {
    const unsigned packed = byte_at(rest, i % 16);
    const unsigned nibble = i < 16 ? packed & 15U : packed >> 4U;
    const unsigned bits = nibble | (((fifth >> static_cast<unsigned>(i)) & 1U) << 4U);
    values[i] = static_cast<float>(static_cast<int>(bits) - kCentre) * scale;
    if constexpr (has_minimum) values[i] += minimum;
  }
}

void q8_0_block(const std::byte* block, float* values) {
  const float scale = half_at(block);
  for (int i = 0; i < kSubBlock; ++i)
    values[i] = static_cast<float>(load<std::int8_t>(block + 2 + i)) * scale;
}

struct SixBits {
  unsigned scale;
  unsigned minimum;
};

// Eight scales and eight minima of six bits each, in twelve bytes.
SixBits six_bits(const std::byte* packed, int index) {
  const unsigned a = byte_at(packed, index % 4);
  const unsigned b = byte_at(packed, index % 4 + 4);
  if (index < 4) return {a & 63U, b & 63U};
  const unsigned c = byte_at(packed, index + 4);
  return {(c & 15U) | ((a >> 6U) << 4U), (c >> 4U) | ((b >> 6U) << 4U)};
}

// Eight sub-blocks of 32; two share 32 bytes, one in the low and one in the high nibbles. Bit k of the
// fifth-bit bytes belongs to sub-block k.
template <bool has_fifth_bit>
void k_block(const std::byte* block, float* values) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const std::byte* packed = block + 4;
  const std::byte* fifth = packed + 12;
  const std::byte* nibbles = has_fifth_bit ? fifth + kSubBlock : fifth;
  for (int sub = 0; sub < 8; ++sub) {
    const SixBits six = six_bits(packed, sub);
    const float sub_scale = scale * static_cast<float>(six.scale);
    const float sub_minimum = minimum * static_cast<float>(six.minimum);
    for (int i = 0; i < kSubBlock; ++i) {
      const unsigned pair = byte_at(nibbles, sub / 2 * kSubBlock + i);
      unsigned bits = sub % 2 == 0 ? pair & 15U : pair >> 4U;
      if constexpr (has_fifth_bit) bits |= ((byte_at(fifth, i) >> static_cast<unsigned>(sub)) & 1U) << 4U;
      values[sub * kSubBlock + i] = sub_scale * static_cast<float>(bits) - sub_minimum;
    }
  }
}

// Two halves of 128: four runs of 32 take their low four bits from the nibbles of 64 bytes and their upper
// two from the four pairs of bits of 32 bytes; 16 elements share an 8-bit scale.
void q6_k_block(const std::byte* block, float* values) {
  const std::byte* low = block;
  const std::byte* upper = block + 128;
  const std::byte* scales = block + 192;
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int run = i % 128 / kSubBlock;
    const int within = i % kSubBlock;
    const unsigned pair = byte_at(low, half * 64 + run % 2 * kSubBlock + within);
    const unsigned nibble = run < 2 ? pair & 15U : pair >> 4U;
    const unsigned two = (byte_at(upper, half * kSubBlock + within) >> static_cast<unsigned>(2 * run)) & 3U;
    const float sub_scale = scale * static_cast<float>(load<std::int8_t>(scales + i / 16));
    values[i] = sub_scale * static_cast<float>(static_cast<int>(nibble | (two << 4U)) - 32);
  }
}

using BlockFunction = void (*)(const std::byte*, float*);

template <float (*one)(const std::byte*)>
void single(const std::byte* data, float* value) {
  *value = one(data);
}

BlockFunction function_of(DType type) {
  switch (type) {
    case DType::kF32:
      return single<f32_block>;
    case DType::kF16:
      return single<half_at>;
    case DType::kBF16:
      return single<bf16_block>;
    case DType::kQ4_0:
      return small_block<false, false>;
    case DType::kQ4_1:
      return small_block<true, false>;
    case DType::kQ5_0:
      return small_block<false, true>;
    case DType::kQ5_1:
      return small_block<true, true>;
    case DType::kQ8_0:
      return q8_0_block;
    case DType::kQ4_K:
      return k_block<false>;
    case DType::kQ5_K:
      return k_block<true>;
    case DType::kQ6_K:
      return q6_k_block;
    default:
      return nullptr;
  }
}

}  // namespace

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 31U;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction · 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

bool can_dequantise(DType type) { return function_of(type) != nullptr; }

void dequantise(DType type, std::span<const std::byte> blocks, std::span<float> values) {
  const BlockLayout layout = layout_of(type);
  const BlockFunction function = function_of(type);
  CHECK_INVARIANT(function != nullptr, layout.name);
  const std::size_t elements = static_cast<std::size_t>(layout.block_elements);
  const std::size_t bytes = static_cast<std::size_t>(layout.block_bytes);
  CHECK_INVARIANT(values.size() % elements == 0, values.size(), layout.name);
  CHECK_INVARIANT(values.size() / elements * bytes == blocks.size(), values.size(), blocks.size());
  for (std::size_t block = 0; block * bytes < blocks.size(); ++block) {
    function(blocks.data() + block * bytes, values.data() + block * elements);
  }
}

}  // namespace servetwin
