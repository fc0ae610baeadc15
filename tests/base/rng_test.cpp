// If this fails, every simulated result changes: the draws are no longer those of Philox under our keys.
#include "engine/base/rng.h"

#include <set>

#include "tests/support/catch.h"

namespace servetwin::rng_test {
namespace {

// The draw whose Philox counter is c0..c3 and whose key is k0, k1.
std::uint64_t philox_draw(std::uint64_t c10, std::uint32_t c2, std::uint32_t c3, std::uint64_t k10) {
  const StreamKey key{k10, static_cast<Stream>(c3 >> 16), c10};
  return draw_u64(key, c2, static_cast<std::uint16_t>(c3));
}

TEST_CASE("draws are the published known answers of Philox4x32-10") {
  // The first two of four words, from kat_vectors of Random123 (Salmon et al., 2011).
  CHECK(philox_draw(0, 0, 0, 0) == 0xe169c58d6627e8d5ULL);
  CHECK(philox_draw(~0ULL, ~0U, ~0U, ~0ULL) == 0x41c83b0e408f276dULL);
  CHECK(philox_draw(0x85a308d3243f6a88ULL, 0x13198a2eU, 0x03707344U, 0x299f31d0a4093822ULL) ==
        0x94fdccebd16cfe09ULL);
}

TEST_CASE("the first draws of a stream stay what they are") {
  const StreamKey key{42, Stream::kArrivals, 7};
  CHECK(draw_u64(key, 0) == 0x28ed7ae2c3d66edcULL);
  CHECK(draw_u64(key, 1) == 0xae319a45facbb83cULL);
  CHECK(draw_u64(key, 2) == 0x7b781e285d1f6fafULL);
  CHECK(draw_u64(key, 0, 1) == 0xe084fb186c2538eaULL);
  CHECK(draw_unit(key, 0) == 0x1.476bd7161eb34p-3);
  CHECK(draw_unit(key, 1) == 0x1.5c63348bf5977p-1);
  CHECK(draw_unit(key, 2) == 0x1.ede078a1747dap-2);
}

TEST_CASE("seed, stream, entity, index and attempt each give other draws") {
  std::set<std::uint64_t> draws;
  for (std::uint64_t entity : {0ULL, 1ULL, 1ULL << 32}) {
    for (std::uint32_t index = 0; index < 4; ++index) {
      draws.insert(draw_u64({1, Stream::kArrivals, entity}, index));
      draws.insert(draw_u64({1, Stream::kArrivals, entity}, index, 1));
      draws.insert(draw_u64({1, Stream::kRouting, entity}, index));
      draws.insert(draw_u64({2, Stream::kArrivals, entity}, index));
    }
  }
  CHECK(draws.size() == 3 * 4 * 4);
}

TEST_CASE("unit draws lie strictly inside (0, 1) on odd multiples of 2^-53") {
  double sum = 0;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    const double unit = draw_unit({3, Stream::kTest, 0}, i);
    const auto multiple = static_cast<std::uint64_t>(unit * 0x1p53);
    REQUIRE(static_cast<double>(multiple) == unit * 0x1p53);
    REQUIRE(multiple % 2 == 1);
    REQUIRE(unit < 1);
    sum += unit;
  }
  CHECK(sum / 10000 == Approx(0.5).margin(0.012));  // four standard errors
}

}  // namespace
}  // namespace servetwin::rng_test
