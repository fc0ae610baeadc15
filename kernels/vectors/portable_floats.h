// Eight floats, and eight integers, in plain C++: for every machine, and what the other kinds must equal.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/base/dequantise.h"

namespace servetwin {

// Every kind of vector has these members. Functions of two operands act lane by lane.
struct PortableFloats {
  static constexpr int kSize = 8;

  struct Ints {
    std::uint32_t lane[kSize];

    static Ints all(std::int32_t value) {
      return map([&](int) { return static_cast<std::uint32_t>(value); });
    }
    static Ints bytes(const std::byte* from) {
      return map([&](int i) { return std::to_integer<std::uint32_t>(from[i]); });
    }
    static Ints signed_bytes(const std::byte* from) {
      return map([&](int i) {
        return static_cast<std::uint32_t>(static_cast<std::int8_t>(std::to_integer<std::uint8_t>(from[i])));
      });
    }
    static Ints words(const std::byte* from) {
      std::uint16_t values[kSize];
      std::memcpy(values, from, sizeof values);
      return map([&](int i) { return static_cast<std::uint32_t>(values[i]); });
    }
    Ints left(int bits) const {
      return map([&](int i) { return lane[i] << bits; });
    }
    Ints right(int bits) const {
      return map([&](int i) { return lane[i] >> bits; });
    }
    // Lane i by i bits.
    Ints right_by_lane() const {
      return map([&](int i) { return lane[i] >> i; });
    }
    Ints operator&(const Ints& other) const {
      return map([&](int i) { return lane[i] & other.lane[i]; });
    }
    Ints operator|(const Ints& other) const {
      return map([&](int i) { return lane[i] | other.lane[i]; });
    }
    Ints operator+(const Ints& other) const {
      return map([&](int i) { return lane[i] + other.lane[i]; });
    }
    template <class Function>
    static Ints map(Function function) {
      Ints result;
      for (int i = 0; i < kSize; ++i) result.lane[i] = function(i);
      return result;
    }
  };

  float lane[kSize];

  static PortableFloats all(float value) {
    return map([&](int) { return value; });
  }
  static PortableFloats load(const float* from) {
    return map([&](int i) { return from[i]; });
  }
  void store(float* to) const { std::memcpy(to, lane, sizeof lane); }
  static float half(const std::byte* from) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return half_to_float(bits);
  }
  static PortableFloats halves(const std::byte* from) {
    return map([&](int i) { return half(from + 2 * i); });
  }
  // The values of signed integers; exact below 2^24.
  static PortableFloats of(const Ints& values) {
    return map([&](int i) { return static_cast<float>(static_cast<std::int32_t>(values.lane[i])); });
  }
  static PortableFloats from_bits(const Ints& values) {
    return map([&](int i) { return std::bit_cast<float>(values.lane[i]); });
  }
  Ints to_bits() const {
    return Ints::map([&](int i) { return std::bit_cast<std::uint32_t>(lane[i]); });
  }
  // The second where either is NaN.
  static PortableFloats min(const PortableFloats& a, const PortableFloats& b) {
    return map([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static PortableFloats max(const PortableFloats& a, const PortableFloats& b) {
    return map([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  // 0 where `tested` is below `limit`.
  PortableFloats zero_where_below(const PortableFloats& tested, const PortableFloats& limit) const {
    return map([&](int i) { return tested.lane[i] < limit.lane[i] ? 0.0F : lane[i]; });
  }
  PortableFloats operator+(const PortableFloats& other) const {
    return map([&](int i) { return lane[i] + other.lane[i]; });
  }
  PortableFloats operator-(const PortableFloats& other) const {
    return map([&](int i) { return lane[i] - other.lane[i]; });
  }
  PortableFloats operator*(const PortableFloats& other) const {
    return map([&](int i) { return lane[i] * other.lane[i]; });
  }
  PortableFloats operator/(const PortableFloats& other) const {
    return map([&](int i) { return lane[i] / other.lane[i]; });
  }
  // In the order of sum_of_lanes.
  float sum() const {
    const float left = (lane[0] + lane[4]) + (lane[2] + lane[6]);
    const float right = (lane[1] + lane[5]) + (lane[3] + lane[7]);
    return left + right;
  }
  template <class Function>
  static PortableFloats map(Function function) {
    PortableFloats result;
    for (int i = 0; i < kSize; ++i) result.lane[i] = function(i);
    return result;
  }
};

}  // namespace servetwin
