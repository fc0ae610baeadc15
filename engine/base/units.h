// Quantities as types: tokens, bytes, blocks and FLOPs cannot be mixed up or passed in the wrong place.
#pragma once

#include <compare>
#include <cstdint>

namespace servetwin {

// A signed 64-bit count of one kind of thing. Only operators that mean something exist.
template <class Tag>
struct Quantity {
  std::int64_t value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t v) : value(v) {}

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity{a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity{a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t k) { return Quantity{a.value * k}; }
  friend constexpr Quantity operator*(std::int64_t k, Quantity a) { return Quantity{a.value * k}; }
  friend constexpr Quantity operator/(Quantity a, std::int64_t k) { return Quantity{a.value / k}; }
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.value / b.value; }
  constexpr Quantity& operator+=(Quantity b) {
    value += b.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value -= b.value;
    return *this;
  }
};

using Tokens = Quantity<struct TokensTag>;
using Bytes = Quantity<struct BytesTag>;
using Blocks = Quantity<struct BlocksTag>;
using Flops = Quantity<struct FlopsTag>;

// Rates are plain doubles in named structs: they enter costs, never counts.
struct BytesPerSecond {
  double value = 0;
  friend constexpr auto operator<=>(BytesPerSecond, BytesPerSecond) = default;
};

struct FlopsPerSecond {
  double value = 0;
  friend constexpr auto operator<=>(FlopsPerSecond, FlopsPerSecond) = default;
};

// Events a second, for example request arrivals.
struct PerSecond {
  double value = 0;
  friend constexpr auto operator<=>(PerSecond, PerSecond) = default;
};

// How many whole units of size `unit` cover `n`. Both are positive or n is zero.
constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; }

constexpr Blocks blocks_for(Tokens n, Tokens block_size) {
  return Blocks{ceil_div(n.value, block_size.value)};
}

}  // namespace servetwin
