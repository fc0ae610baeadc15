// From stored weights to floats in registers, 32 at a time, with the bits of dequantise.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace servetwin {

inline constexpr std::int64_t kPart = 32;  // elements decoded at once: four vectors

// A format decodes part `part` of a row. `kPartBytes` is there for formats whose rows may end within a part.
template <class F>
struct F32Format {
  static constexpr std::int64_t kPartBytes = 4 * kPart;
  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    const std::byte* from = row + part * kPartBytes;
    for (int i = 0; i < 4; ++i) std::memcpy(&out[i], from + 32 * i, 32);
  }
};

template <class F>
struct F16Format {
  static constexpr std::int64_t kPartBytes = 2 * kPart;
  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    const std::byte* from = row + part * kPartBytes;
    for (int i = 0; i < 4; ++i) out[i] = F::halves(from + 16 * i);
  }
};

template <class F>
struct Bf16Format {
  static constexpr std::int64_t kPartBytes = 2 * kPart;
  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    const std::byte* from = row + part * kPartBytes;
    for (int i = 0; i < 4; ++i) out[i] = F::from_bits(F::Ints::words(from + 16 * i).left(16));
  }
};

// Q4_0, Q4_1, Q5_0, Q5_1.
template <class F, bool has_minimum, bool has_fifth_bit>
struct SmallFormat {
  static constexpr std::int64_t kPartBytes = 2 + (has_minimum ? 2 : 0) + (has_fifth_bit ? 4 : 0) + 16;
  static constexpr int kCentre = has_minimum ? 0 : (has_fifth_bit ? 16 : 8);

  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    using Ints = typename F::Ints;
    const std::byte* block = row + part * kPartBytes;
    const std::byte* nibbles = block + kPartBytes - 16;
    const F scale = F::all(F::half(block));
    const F minimum = F::all(has_minimum ? F::half(block + 2) : 0.0F);
    std::int32_t fifth = 0;
    if constexpr (has_fifth_bit) std::memcpy(&fifth, nibbles - 4, sizeof fifth);
    for (int i = 0; i < 4; ++i) {
      const Ints pairs = Ints::bytes(nibbles + 8 * (i % 2));
      Ints bits = i < 2 ? pairs & Ints::all(15) : pairs.right(4);
      if constexpr (has_fifth_bit) {
        bits = bits | (Ints::all(fifth).right(8 * i).right_by_lane() & Ints::all(1)).left(4);
      }
      if constexpr (!has_minimum) bits = bits + Ints::all(-kCentre);
      out[i] = F::of(bits) * scale;
      if constexpr (has_minimum) out[i] = out[i] + minimum;
    }
  }
};

template <class F>
struct Q8_0Format {
  static constexpr std::int64_t kPartBytes = 34;
  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    const std::byte* block = row + part * kPartBytes;
    const F scale = F::all(F::half(block));
    for (int i = 0; i < 4; ++i) out[i] = F::of(F::Ints::signed_bytes(block + 2 + 8 * i)) * scale;
  }
};

// Q4_K and Q5_K: a block of eight parts.
template <class F, bool has_fifth_bit>
struct KFormat {
  static constexpr std::int64_t kBlockBytes = has_fifth_bit ? 176 : 144;

  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    using Ints = typename F::Ints;
    const std::byte* block = row + part / 8 * kBlockBytes;
    const int sub = static_cast<int>(part % 8);
    const std::byte* packed = block + 4;
    const std::byte* fifth = packed + 12;
    const std::byte* nibbles = (has_fifth_bit ? fifth + 32 : fifth) + sub / 2 * 32;
    const auto byte_at = [&](int index) { return std::to_integer<unsigned>(packed[index]); };
    const unsigned a = byte_at(sub % 4);
    const unsigned b = byte_at(sub % 4 + 4);
    const unsigned c = byte_at(sub % 4 + 8);
    const unsigned six_scale = sub < 4 ? a & 63U : (c & 15U) | ((a >> 6U) << 4U);
    const unsigned six_minimum = sub < 4 ? b & 63U : (c >> 4U) | ((b >> 6U) << 4U);
    const F scale = F::all(F::half(block) * static_cast<float>(six_scale));
    const F minimum = F::all(F::half(block + 2) * static_cast<float>(six_minimum));
    for (int i = 0; i < 4; ++i) {
      const Ints pairs = Ints::bytes(nibbles + 8 * i);
      Ints bits = sub % 2 == 0 ? pairs & Ints::all(15) : pairs.right(4);
      if constexpr (has_fifth_bit) {
        bits = bits | (Ints::bytes(fifth + 8 * i).right(sub) & Ints::all(1)).left(4);
      }
      out[i] = scale * F::of(bits) - minimum;
    }
  }
};

template <class F>
struct Q6KFormat {
  static void decode(const std::byte* row, std::int64_t part, F (&out)[4]) {
    using Ints = typename F::Ints;
    const std::byte* block = row + part / 8 * 210;
    const int half = static_cast<int>(part % 8) / 4;
    const int run = static_cast<int>(part % 4);
    const std::byte* low = block + 64 * half + 32 * (run % 2);
    const std::byte* upper = block + 128 + 32 * half;
    for (int i = 0; i < 4; ++i) {
      const Ints pairs = Ints::bytes(low + 8 * i);
      const Ints nibbles = run < 2 ? pairs & Ints::all(15) : pairs.right(4);
      const Ints twos = (Ints::bytes(upper + 8 * i).right(2 * run) & Ints::all(3)).left(4);
      const auto scale = std::to_integer<std::uint8_t>(block[192 + part % 8 * 2 + i / 2]);
      const float product = F::half(block + 208) * static_cast<float>(static_cast<std::int8_t>(scale));
      out[i] = F::all(product) * F::of((nibbles | twos) + Ints::all(-32));
    }
  }
};

}  // namespace servetwin
