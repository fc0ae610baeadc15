// A running 64-bit digest of what happened, cheap enough for every step of the hot loop. Not cryptographic.
#pragma once

#include <cstdint>
#include <string>

namespace servetwin {

// Order and number of the words count. Each word is scrambled by one multiply and folded into the state by a
// second; both maps are bijective, so two sequences that differ in one word never share a state.
class Digest {
 public:
  void add(std::uint64_t word) {
    const std::uint64_t spread = word * 0x9e3779b97f4a7c15ULL;
    state_ ^= spread ^ (spread >> 32);
    state_ = ((state_ << 27) | (state_ >> 37)) * 0xd6e8feb86659fd93ULL + 0x2545f4914f6cdd1dULL;
  }

  void add_signed(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }

  // The words so far; adding may go on. The final mix lets every bit of the last word reach every bit.
  std::uint64_t value() const {
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_ = 0x6a09e667f3bcc908ULL;
};

// 16 lower-case hexadecimal digits.
inline std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15];
  return text;
}

inline std::string to_hex(const Digest& digest) { return to_hex(digest.value()); }

}  // namespace servetwin
