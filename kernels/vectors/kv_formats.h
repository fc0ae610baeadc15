// From the elements of a KV cache to floats in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace servetwin {

// How a cache holds eight elements.
template <class F>
struct F32Elements {
  static constexpr std::int64_t kBytes = 4;
  static F decode(const std::byte* from) {
    F values;
    std::memcpy(&values, from, sizeof values);
    return values;
  }
};

template <class F>
struct Bf16Elements {
  static constexpr std::int64_t kBytes = 2;
  static F decode(const std::byte* from) { return F::from_bits(F::Ints::words(from).left(16)); }
};

template <class F>
struct F16Elements {
  static constexpr std::int64_t kBytes = 2;
  static F decode(const std::byte* from) { return F::halves(from); }
};

template <class F>
struct Int8Elements {
  static constexpr std::int64_t kBytes = 1;
  static F decode(const std::byte* from) { return F::of(F::Ints::signed_bytes(from)); }
};

// Sign, 4 bits of exponent (bias 7), 3 of fraction, put where a float has its own and scaled by 2^(127 − 7).
template <class F>
struct Fp8Elements {
  static constexpr std::int64_t kBytes = 1;
  static F decode(const std::byte* from) {
    using Ints = typename F::Ints;
    const Ints bits = Ints::bytes(from);
    const Ints magnitude = (bits & Ints::all(127)).left(20);
    return F::from_bits(magnitude | bits.right(7).left(31)) * F::all(0x1p120F);
  }
};

}  // namespace servetwin
