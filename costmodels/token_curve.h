// A time as a function of the tokens of a step, evaluated once at fixed counts and then looked up.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace servetwin {

// Exact at every count up to 512 and at 32 counts between a power of two and the next; linear in between,
// and beyond the last one along the last piece.
class TokenCurve {
 public:
  TokenCurve() = default;
  // Knots reach `most`, or a little further.
  TokenCurve(std::int64_t most, const std::function<double(double)>& time);

  // Of at least 0 tokens; a curve made of nothing is 0 everywhere.
  double at(std::int64_t tokens) const {
    if (tokens < kExact) return tokens < size() ? values_[static_cast<std::size_t>(tokens)] : beyond(tokens);
    const int shift = 63 - kStepBits - __builtin_clzll(static_cast<std::uint64_t>(tokens));
    const std::int64_t index = knot_of(tokens, shift);
    if (index + 1 >= size()) return beyond(tokens);
    const double low = values_[static_cast<std::size_t>(index)];
    const double high = values_[static_cast<std::size_t>(index) + 1];
    const auto rest = static_cast<double>(tokens & ((std::int64_t{1} << shift) - 1));
    return low + (high - low) * (rest / static_cast<double>(std::int64_t{1} << shift));
  }

 private:
  static constexpr int kStepBits = 5;  // 32 pieces between powers of two
  static constexpr int kExactBits = 9;
  static constexpr std::int64_t kExact = std::int64_t{1} << kExactBits;

  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  // The last knot at or below a count of at least kExact; 2 to the `shift` is the distance of knots there.
  static std::int64_t knot_of(std::int64_t tokens, int shift) {
    const std::int64_t octave = shift - (kExactBits - kStepBits);
    return kExact + octave * (std::int64_t{1} << kStepBits) + (tokens >> shift) -
           (std::int64_t{1} << kStepBits);
  }
  static std::int64_t tokens_of(std::int64_t knot);
  double beyond(std::int64_t tokens) const;

  std::vector<double> values_;
};

}  // namespace servetwin
