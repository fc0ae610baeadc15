// If these fail, the emulator runs correct kernels to wrong results, and nothing it says of ours counts.
#include "tests/emulator/textbook/textbook.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/emulator/checker.h"
#include "tests/emulator/machine.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::textbook_test {
namespace {

template <class T>
std::vector<T> numbers(int size, int modulus, int shift) {
  std::vector<T> values;
  for (int i = 0; i < size; ++i) values.push_back(static_cast<T>(i * 7919 % modulus - shift));
  return values;
}

// Three of each manner of scheduling.
template <class Check>
void under_nine_seeds(Check check) {
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    CAPTURE(seed);
    const Emulation emulation({seed, {}});
    check();
  }
}

std::vector<float> product(
    const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n, std::size_t k) {
  std::vector<float> c(m * n);
  for (std::size_t i = 0; i < m * n * k; ++i) {
    c[i / k / n * n + i / k % n] += a[i / k / n * k + i % k] * b[i % k * n + i / k % n];
  }
  return c;
}

}  // namespace

TEST_CASE("textbook reduction, prefix sum and grid stride give the sums of a loop") {
  under_nine_seeds([] {
    const std::vector<float> values = numbers<float>(1500, 64, 20);
    const Buffer<float> from(values);
    const Buffer<float> total(std::vector<float>{0.0F});
    textbook::reduce(from.data(), 1500, total.data());
    CHECK(total.values()[0] == std::accumulate(values.begin(), values.end(), 0.0F));

    const std::vector<int> steps = numbers<int>(777, 100, 50);
    const Buffer<int> steps_there(steps);
    const Buffer<int> sums(777);
    textbook::scan(steps_there.data(), 777, sums.data());
    std::vector<int> expected(777);
    std::partial_sum(steps.begin(), steps.end(), expected.begin());
    CHECK(sums.values() == expected);

    const Buffer<float> to(values);
    textbook::add_scaled(2.0F, from.data(), 1500, to.data());
    std::vector<float> scaled = values;
    for (float& value : scaled) value *= 3.0F;
    CHECK(to.values() == scaled);
  });
}

TEST_CASE("textbook transposition, reversal and compaction move every number to its place") {
  under_nine_seeds([] {
    const std::vector<float> matrix = numbers<float>(37 * 53, 4099, 0);
    const Buffer<float> from(matrix);
    const Buffer<float> to(matrix.size());
    textbook::transpose(from.data(), 37, 53, to.data());
    const std::vector<float> moved = to.values();
    for (std::size_t i = 0; i < matrix.size(); ++i) REQUIRE(moved[i % 53 * 37 + i / 53] == matrix[i]);

    std::vector<int> row = numbers<int>(901, 211, 100);
    const Buffer<int> row_there(row);
    const Buffer<int> reversed(901);
    textbook::reverse(row_there.data(), 901, reversed.data());
    CHECK(reversed.values() == std::vector<int>(row.rbegin(), row.rend()));

    const auto is_positive = [](int x) { return x > 0; };
    const Buffer<int> kept(std::vector<int>(901, 0));
    const Buffer<int> count(1);
    textbook::compact(row_there.data(), 901, kept.data(), count.data());
    std::vector<int> expected;
    std::copy_if(row.begin(), row.end(), std::back_inserter(expected), is_positive);
    REQUIRE(count.values()[0] == static_cast<int>(expected.size()));
    expected.resize(901);
    CHECK(kept.values() == expected);
  });
}

TEST_CASE("textbook histogram and records count by atomics what a loop counts") {
  under_nine_seeds([] {
    const std::vector<int> values = numbers<int>(1000, 61, 0);
    const Buffer<int> from(values);
    const Buffer<unsigned> counts(std::vector<unsigned>(64, 0U));
    textbook::histogram(from.data(), 1000, counts.data());
    std::vector<unsigned> expected(64, 0U);
    for (const int value : values) ++expected[static_cast<std::size_t>(value)];
    CHECK(counts.values() == expected);

    const Buffer<unsigned> records(std::vector<unsigned>{0U});
    const Buffer<int> largest(std::vector<int>{-1});
    textbook::count_records(from.data(), 1000, records.data(), largest.data());
    unsigned seen = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto start = values.begin() + static_cast<std::ptrdiff_t>(i / 32 * 32);
      seen += std::all_of(start, values.begin() + static_cast<std::ptrdiff_t>(i),
                          [&](int before) { return before < values[i]; });
    }
    CHECK(records.values()[0] == seen);
    CHECK(largest.values()[0] == 60);
  });
}

TEST_CASE("textbook matrix products, by tiles and by fragments, equal the triple loop") {
  under_nine_seeds([] {
    const std::vector<float> a = numbers<float>(48 * 32, 9, 4);
    const std::vector<float> b = numbers<float>(32 * 64, 11, 5);
    const std::vector<float> whole = product(a, b, 48, 64, 32);
    const Buffer<float> a_there(a);
    const Buffer<float> b_there(b);
    const Buffer<float> tiles(48 * 64);
    textbook::multiply_tiles(a_there.data(), b_there.data(), 48, 64, 32, tiles.data());
    CHECK(tiles.values() == whole);
    const Buffer<float> ragged(45 * 61);
    textbook::multiply_tiles(a_there.data(), b_there.data(), 45, 61, 29, ragged.data());
    CHECK(ragged.values() == product(a, b, 45, 61, 29));

    const auto halves = [](const std::vector<float>& values) {
      std::vector<std::uint16_t> bits;
      for (const float value : values) bits.push_back(float_to_half(value));
      return bits;
    };
    const Buffer<std::uint16_t> half_a(halves(a));
    const Buffer<std::uint16_t> half_b(halves(b));
    const Buffer<float> fragments(48 * 64);
    textbook::multiply_fragments(half_a.data(), half_b.data(), 48, 64, 32, fragments.data());
    CHECK(fragments.values() == whole);
  });
}

}  // namespace servetwin::emulator::textbook_test
