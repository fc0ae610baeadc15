// Cosine and sine from + − × alone, so that they have the same bits on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace servetwin {

struct Turn {
  double cosine = 1;
  double sine = 0;
};

// For |angle| below 10⁶, within 10⁻¹⁰. The nearest multiple of π/2 is taken off in two parts, the first so
// short that its product with a whole number is exact; the rest goes through Taylor's series.
inline Turn turn_of(double angle) {
  constexpr double kShift = 0x1.8p52;  // rounds to a whole number when it is added
  const double quarters = (angle * 0.63661977236758134308 + kShift) - kShift;
  const double x = (angle - quarters * 0x1.921fb544p0) - quarters * 0x1.0b4611a626331p-34;
  const double square = x * x;
  double sine = 0;
  double cosine = 0;
  for (const double n : {14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0}) {
    sine = square * (1.0 / (n * (n + 1.0))) * (1.0 - sine);
    cosine = square * (1.0 / (n * (n - 1.0))) * (1.0 - cosine);
  }
  sine = x * (1.0 - sine);
  cosine = 1.0 - cosine;
  switch (static_cast<std::int64_t>(quarters) & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

}  // namespace servetwin
