// If these fail, quantised weights become other numbers than their makers meant.
#include "engine/base/dequantise.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::dequantise_test {
namespace {

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<float> values_of(DType type, const std::vector<std::byte>& bytes) {
  const BlockLayout layout = layout_of(type);
  const std::size_t blocks = bytes.size() / static_cast<std::size_t>(layout.block_bytes);
  std::vector<float> values(blocks * static_cast<std::size_t>(layout.block_elements));
  dequantise(type, bytes, values);
  return values;
}

TEST_CASE("blocks of every format give the bits that llama.cpp's own package gives") {
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/gguf_blocks.json");
  const nlohmann::json cases = nlohmann::json::parse(in).at("blocks");
  CHECK(cases.size() == 11);
  for (const nlohmann::json& one : cases) {
    const std::string name = one.at("type");
    CAPTURE(name);
    const std::vector<float> values = values_of(*dtype_from_name(name), from_hex(one.at("blocks")));
    const std::vector<std::byte> expected = from_hex(one.at("values"));
    REQUIRE(values.size() * sizeof(float) == expected.size());
    CHECK(std::memcmp(values.data(), expected.data(), expected.size()) == 0);
  }
}

TEST_CASE("every f16 is the number that its bits say") {
  for (unsigned bits = 0; bits <= 0xFFFFU; ++bits) {
    const int exponent = static_cast<int>((bits >> 10U) & 31U);
    const double fraction = static_cast<double>(bits & 0x3FFU) / 1024;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::signbit(value) != ((bits & 0x8000U) != 0)) FAIL("wrong sign of " << bits);
    if (exponent < 31 && std::fabs(static_cast<double>(value)) != magnitude) FAIL("wrong value of " << bits);
    if (exponent == 31 && (fraction == 0 ? !std::isinf(value) : !std::isnan(value))) FAIL("finite: " << bits);
  }
  SUCCEED("all of 65,536");
}

TEST_CASE("bf16 is the upper half of f32") {
  CHECK(bfloat16_to_float(0x3F80) == 1.0F);
  CHECK(bfloat16_to_float(0xC2C8) == -100.0F);
  CHECK(std::isnan(bfloat16_to_float(0x7FC1)));
}

// Writes the six-bit scales and minima of a K block the way the format describes them, bit by bit.
void set_six_bits(std::byte* packed, int index, unsigned scale, unsigned minimum) {
  const auto set = [&](int at, unsigned bits) { packed[at] |= static_cast<std::byte>(bits); };
  if (index < 4) {
    set(index, scale);
    set(index + 4, minimum);
  } else {
    set(index + 4, (scale & 15U) | ((minimum & 15U) << 4U));
    set(index - 4, (scale >> 4U) << 6U);
    set(index, (minimum >> 4U) << 6U);
  }
}

TEST_CASE("any scales and quants of a Q5_K block come back as scale times quant less minimum") {
  CHECK(rc::check("one block", [] {
    std::vector<std::byte> block(176);
    block[1] = std::byte{0x3C};  // the scale of scales: 1
    block[3] = std::byte{0x3C};
    std::vector<float> expected(256);
    for (int sub = 0; sub < 8; ++sub) {
      const unsigned scale = *rc::gen::inRange(0U, 64U);
      const unsigned minimum = *rc::gen::inRange(0U, 64U);
      set_six_bits(block.data() + 4, sub, scale, minimum);
      for (int i = 0; i < 32; ++i) {
        const unsigned quant = *rc::gen::inRange(0U, 32U);
        block[static_cast<std::size_t>(48 + sub / 2 * 32 + i)] |=
            static_cast<std::byte>((quant & 15U) << (sub % 2 == 0 ? 0U : 4U));
        block[static_cast<std::size_t>(16 + i)] |=
            static_cast<std::byte>((quant >> 4U) << static_cast<unsigned>(sub));
        expected[static_cast<std::size_t>(sub * 32 + i)] =
            static_cast<float>(scale * quant) - static_cast<float>(minimum);
      }
    }
    RC_ASSERT(values_of(DType::kQ5_K, block) == expected);
  }));
}

TEST_CASE("each block is read by itself: any run of blocks gives the same as one after the other") {
  CHECK(rc::check("random blocks", [] {
    const DType type =
        *rc::gen::element(DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                          DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K);
    const auto size = static_cast<std::size_t>(layout_of(type).block_bytes);
    const auto blocks = *rc::gen::inRange<std::size_t>(0, 5);
    const auto draws =
        *rc::gen::container<std::vector<std::uint8_t>>(blocks * size, rc::gen::arbitrary<std::uint8_t>());
    std::vector<std::byte> bytes;
    for (const std::uint8_t draw : draws) bytes.push_back(static_cast<std::byte>(draw));
    std::vector<float> apart;
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(block * size);
      const std::vector<float> one = values_of(type, {first, first + static_cast<std::ptrdiff_t>(size)});
      apart.insert(apart.end(), one.begin(), one.end());
    }
    const std::vector<float> together = values_of(type, bytes);
    RC_ASSERT(together.size() == apart.size());
    // Not `||` inside RC_ASSERT: its operands are both evaluated, and memcmp takes no null pointer.
    if (together.empty()) return;
    RC_ASSERT(std::memcmp(together.data(), apart.data(), apart.size() * sizeof(float)) == 0);
  }));
}

TEST_CASE("formats without a meaning here, and sizes that do not fit, break an invariant") {
  make_checks_throw();
  std::vector<float> values(256);
  const std::vector<std::byte> bytes(256);
  CHECK_FALSE(can_dequantise(DType::kQ2_K));
  CHECK_FALSE(can_dequantise(DType::kF8E4M3));
  CHECK_THROWS_AS(dequantise(DType::kQ2_K, bytes, values), BrokenInvariant);
  CHECK_THROWS_AS(dequantise(DType::kQ4_0, bytes, values), BrokenInvariant);
  CHECK_THROWS_AS(dequantise(DType::kQ4_K, std::span(bytes).first(144), std::span(values).first(255)),
                  BrokenInvariant);
}

}  // namespace
}  // namespace servetwin::dequantise_test
