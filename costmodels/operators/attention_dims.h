// Dims of attention calls over a paged cache, and what all their formulas use.
#pragma once

#include <algorithm>
#include <cstdint>

#include "costmodels/operators/operator_formula.h"

namespace servetwin {

// One query token a row; all rows of one context, its own token included.
enum DecodeDim : std::size_t {
  kDecodeRows,
  kDecodeContext,
  kDecodeHeads,
  kDecodeKvHeads,
  kDecodeHeadDim,
  kDecodeKvBytes,  // an element of the cache
  kDecodeCold      // 1: nothing is in the second-level cache, as where other layers ran in between
};

// So many query tokens a row after so many cached ones.
enum PrefillDim : std::size_t {
  kPrefillRows,
  kPrefillTokens,
  kPrefillCached,
  kPrefillHeads,
  kPrefillKvHeads,
  kPrefillHeadDim,
  kPrefillKvBytes
};

// Megabytes below which a repeated benchmark reads from the second-level cache; from 1.5 times this on all
// comes from memory.
inline constexpr double kCacheMb = 36;

inline double ceil_of(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

inline double out_of_cache(double mb) { return std::clamp((mb - kCacheMb) / (0.5 * kCacheMb), 0.0, 1.0); }

// What thread blocks cost at hardly any context: partly filled waves, then further ones, each of its own
// slope; rows; queries and outputs.
struct DecodeBlocks {
  static constexpr std::size_t kNumbers = 7;  // filling, four slopes of waves, row, query megabytes

  static void describe(std::vector<FormulaNumber>& numbers);
  static double us(const double* numbers, const GpuLimits& device, const Dims& dims);
};

}  // namespace servetwin
