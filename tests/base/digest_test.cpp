// If this fails, recorded digests no longer compare, or two different runs may look the same.
#include "engine/base/digest.h"

#include <set>
#include <vector>

#include "tests/support/catch.h"

namespace servetwin::digest_test {
namespace {

std::string digest_of(const std::vector<std::uint64_t>& words) {
  Digest digest;
  for (const std::uint64_t word : words) digest.add(word);
  return to_hex(digest);
}

TEST_CASE("digests stay what they are") {
  CHECK(digest_of({}) == "492b8d6066c09227");
  CHECK(digest_of({0}) == "ae605372510b0c0e");
  CHECK(digest_of({0, 1, ~0ULL}) == "cab6ee818fe8e603");
}

TEST_CASE("order, number and sign of words count") {
  std::set<std::string> digests = {digest_of({}),     digest_of({0}),    digest_of({0, 0}),
                                   digest_of({1, 2}), digest_of({2, 1}), digest_of({1, 2, 0})};
  CHECK(digests.size() == 6);
  Digest negative;
  negative.add_signed(-1);
  CHECK(to_hex(negative) == digest_of({~0ULL}));
}

TEST_CASE("words that differ in one bit give digests that differ in about half their bits") {
  int fewest = 64;
  int total = 0;
  for (int bit = 0; bit < 64; ++bit) {
    Digest a;
    Digest b;
    a.add(5);
    b.add(5 ^ (1ULL << bit));
    const int differing = __builtin_popcountll(a.value() ^ b.value());
    fewest = differing < fewest ? differing : fewest;
    total += differing;
  }
  CHECK(fewest >= 14);
  CHECK(total / 64 >= 29);
  CHECK(total / 64 <= 35);
}

TEST_CASE("a hundred thousand short sequences have no two digests alike") {
  std::set<std::uint64_t> values;
  for (std::uint64_t a = 0; a < 316; ++a) {
    for (std::uint64_t b = 0; b < 316; ++b) {
      Digest digest;
      digest.add(a);
      digest.add(b << 32);
      values.insert(digest.value());
    }
  }
  CHECK(values.size() == 316U * 316U);
}

TEST_CASE("hex has sixteen lower-case digits, leading zeros kept") {
  CHECK(to_hex(std::uint64_t{0}) == "0000000000000000");
  CHECK(to_hex(std::uint64_t{0xABCDEF}) == "0000000000abcdef");
}

}  // namespace
}  // namespace servetwin::digest_test
