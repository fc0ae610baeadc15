// A small deterministic generator for test scenarios; the values have no meaning of their own.
#pragma once

#include <cstdint>

namespace servetwin::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 2654435761U + 1) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  bool chance(std::int64_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace servetwin::test
