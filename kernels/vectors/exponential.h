// exp from + − × alone, so that it has the same bits on every machine.
#pragma once

#include <cstdint>

namespace servetwin {

// Within 2 ulp; 0 below −87.3, the value at 88.37 above that, NaN for NaN. exp(x) = 2ⁿ · exp(r) with n the
// whole number next to x / ln 2 (found by adding 1.5 · 2²³) and a polynomial for |r| ≤ ln 2 / 2, whose
// coefficients are those of Moshier's Cephes library.
template <class F>
F exponential(F given) {
  const F lowest = F::all(-87.3F);
  const F x = F::max(lowest, F::min(F::all(88.37F), given));
  const F shift = F::all(0x1.8p23F);
  const F shifted = x * F::all(1.44269504F) + shift;
  const F n = shifted - shift;
  const F r = (x - n * F::all(0.693359375F)) + n * F::all(2.12194440e-4F);
  constexpr float kCoefficients[] = {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F,
                                     5.0000001201e-1F};
  F sum = F::all(1.9875691500e-4F);
  for (const float coefficient : kCoefficients) sum = sum * r + F::all(coefficient);
  const F fraction = (sum * r * r + r) + F::all(1.0F);
  const F power = F::from_bits(shifted.to_bits().left(23) + F::Ints::all(127 << 23));
  return (fraction * power).zero_where_below(given, lowest);
}

}  // namespace servetwin
