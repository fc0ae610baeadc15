// Activations, norms and exponentials, eight elements at a time; what is left of a row goes through a padded
// copy, so that each element takes the same operations wherever it stands.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/vectors/exponential.h"

namespace servetwin {

// `count` floats, the other lanes 0.
template <class F>
F load_some(const float* from, std::int64_t count) {
  float values[F::kSize] = {};
  std::memcpy(values, from, static_cast<std::size_t>(count) * sizeof(float));
  return F::load(values);
}

template <class F>
void store_some(F values, float* to, std::int64_t count) {
  float copy[F::kSize];
  values.store(copy);
  std::memcpy(to, copy, static_cast<std::size_t>(count) * sizeof(float));
}

// a[i] = function(a[i], b[i]) into `output`, which may be a or b.
template <class F, class Function>
void for_each(const float* a, const float* b, float* output, std::int64_t size, Function function) {
  std::int64_t i = 0;
  for (; i + F::kSize <= size; i += F::kSize) function(F::load(a + i), F::load(b + i)).store(output + i);
  const std::int64_t rest = size - i;
  if (rest > 0) store_some(function(load_some<F>(a + i, rest), load_some<F>(b + i, rest)), output + i, rest);
}

template <class F>
void silu_and_mul(float* gate, const float* up, std::int64_t size) {
  const F one = F::all(1.0F);
  for_each<F>(gate, up, gate, size, [&](F x, F y) { return x / (one + exponential(F::all(0.0F) - x)) * y; });
}

// x / 2 · (1 + tanh u) = x / (1 + exp(−2 u)).
template <class F>
void gelu_and_mul(float* gate, const float* up, std::int64_t size) {
  const F one = F::all(1.0F);
  for_each<F>(gate, up, gate, size, [&](F x, F y) {
    const F minus_two_u = F::all(-1.5957691216F) * (x + F::all(0.044715F) * (x * x * x));
    return x / (one + exponential(minus_two_u)) * y;
  });
}

// cap · tanh(x / cap), with tanh u = 1 − 2 / (exp(2 u) + 1).
template <class F>
void soft_cap(float* values, float cap, std::int64_t size) {
  const F limit = F::all(cap);
  const F one = F::all(1.0F);
  const F two = F::all(2.0F);
  for_each<F>(values, values, values, size, [&](F x, F) {
    const F small = F::min(F::all(40.0F), F::max(F::all(-40.0F), x / limit));
    return limit * (one - two / (exponential(two * small) + one));
  });
}

template <class F>
void exponentials(const float* input, float* output, std::int64_t size) {
  for_each<F>(input, input, output, size, [](F x, F) { return exponential(x); });
}

template <class F>
void rms_norm(const float* input, const float* weight, float epsilon, float* output, std::int64_t width) {
  F squares = F::all(0.0F);
  std::int64_t i = 0;
  for (; i + F::kSize <= width; i += F::kSize) squares = squares + F::load(input + i) * F::load(input + i);
  if (i < width) {
    const F rest = load_some<F>(input + i, width - i);
    squares = squares + rest * rest;
  }
  const float mean = squares.sum() / static_cast<float>(width);
  const F scale = F::all(1.0F / std::sqrt(mean + epsilon));
  for_each<F>(input, weight, output, width, [&](F x, F w) { return x * scale * w; });
}

}  // namespace servetwin
