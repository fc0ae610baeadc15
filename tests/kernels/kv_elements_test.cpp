// If these fail, a KV cache of fewer bits holds something else than its numbers rounded to nearest, or
// attention over it depends on the machine.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/base/dequantise.h"
#include "engine/base/rng.h"
#include "engine/base/weight_matrix.h"
#include "kernels/activation/soft_cap_cost.h"
#include "kernels/attention/attention_cost.h"
#include "kernels/attention/paged_attention.h"
#include "kernels/gemm/gemm_cost.h"
#include "kernels/vectors/dispatch.h"
#include "tests/kernels/kernel_inputs.h"
#include "tests/support/catch.h"

namespace servetwin::kv_elements_test {
namespace {

// Bits in two's complement order of a small float: what is next to a value is one more or less.
float e4m3_to_float(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const float fraction = static_cast<float>(bits & 7) / 8.0F;
  const float magnitude =
      exponent == 0 ? std::ldexp(fraction, -6) : std::ldexp(1.0F + fraction, exponent - 7);
  return (bits & 128) != 0 ? -magnitude : magnitude;
}

// `to_float` of each code comes back as the code; what lies between two of them goes to the nearer, the
// middle to the even one.
template <class Code, class ToFloat, class FromFloat>
void check_rounding(int largest, ToFloat to_float, FromFloat from_float) {
  int wrong = 0;
  for (int code = 0; code < largest; ++code) {
    const auto low = to_float(static_cast<Code>(code));
    const auto high = to_float(static_cast<Code>(code + 1));
    const float middle = low + (high - low) / 2;
    const int even = code % 2 == 0 ? code : code + 1;
    const auto is = [&](float value, int expected) { wrong += from_float(value) == expected ? 0 : 1; };
    is(low, code);
    is(middle, even);
    is(std::nextafter(middle, 0.0F), code);
    is(std::nextafter(middle, high), code + 1);
    const int sign = 1 << (8 * static_cast<int>(sizeof(Code)) - 1);
    is(-low, code | sign);
  }
  CHECK(wrong == 0);
}

TEST_CASE("f16, bf16 and e4m3 are rounded to nearest, ties to even, for every pair of neighbours") {
  check_rounding<std::uint16_t>(0x7BFF, half_to_float, float_to_half);
  check_rounding<std::uint16_t>(0x7F7F, bfloat16_to_float, float_to_bfloat16);
  check_rounding<std::uint8_t>(0x7E, e4m3_to_float, float_to_e4m3);
}

TEST_CASE("what a format cannot hold becomes infinite, or the largest, and NaN stays NaN") {
  CHECK(float_to_half(65519.0F) == 0x7BFF);
  CHECK(float_to_half(65520.0F) == 0x7C00);
  CHECK(float_to_half(-HUGE_VALF) == 0xFC00);
  CHECK(std::isnan(half_to_float(float_to_half(NAN))));
  CHECK(float_to_bfloat16(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7F800001U)))));
  CHECK(float_to_e4m3(1e9F) == 0x7E);
  CHECK((float_to_e4m3(NAN) & 0x7F) == 0x7F);
}

struct Format {
  DType dtype;
  double error;  // of a value, relative to the largest of its vector
};

// A cache of two blocks' worth of everything that attention can be asked for.
class CacheRig {
 public:
  CacheRig(DType dtype, std::int64_t dim)
      : dim_(dim),
        bytes_(static_cast<std::size_t>(bytes_of(dtype, kSlots * kKvHeads * dim).value) * 2),
        scales_(kSlots * kKvHeads * 2) {
    cache_ = {bytes_.data(), bytes_.data() + bytes_.size() / 2, kBlock, kKvHeads, dim, dtype};
    if (has_scales(dtype)) {
      cache_.key_scales = scales_.data();
      cache_.value_scales = scales_.data() + kSlots * kKvHeads;
    }
    std::vector<std::int64_t> slots;
    for (std::int64_t position = 0; position < kKeys; ++position) slots.push_back(kSlots - 1 - position);
    for (std::int32_t block = 0; block < kSlots / kBlock; ++block) table_.push_back(kSlots - 1 - block);
    keys_ = noise(1, kKeys * kKvHeads * dim);
    values_ = noise(2, kKeys * kKvHeads * dim);
    store_keys_values(cache_, keys_.data(), values_.data(), slots.data(), kKeys);
  }

  std::vector<float> attend(const VectorKernels& kernels, AttentionOptions options) {
    options.heads = 4;
    const std::vector<float> queries = noise(3, 3 * 4 * dim_);
    const std::int32_t cu_seqlens[] = {0, 2, 3};
    const std::int32_t seq_lens[] = {kKeys, 70};
    const std::int64_t starts[] = {0, 0};
    std::vector<float> out(queries.size());
    ThreadTeam team(2);
    paged_attention(kernels, cache_, {2, cu_seqlens, seq_lens, table_.data(), starts}, options,
                    queries.data(), out.data(), team);
    return out;
  }

 private:
  static constexpr std::int32_t kSlots = 160;
  static constexpr std::int32_t kKeys = 150;
  static constexpr std::int64_t kBlock = 1;
  static constexpr std::int64_t kKvHeads = 2;

  std::int64_t dim_;
  std::vector<std::byte> bytes_;
  std::vector<float> scales_;
  PagedCache cache_;
  std::vector<std::int32_t> table_;
  std::vector<float> keys_;
  std::vector<float> values_;
};

TEST_CASE("attention has the same bits for every kind of vector, and is near that over f32") {
  const Format format =
      GENERATE(Format{DType::kF32, 0.0}, Format{DType::kF16, 0.002}, Format{DType::kBF16, 0.01},
               Format{DType::kI8, 0.02}, Format{DType::kF8E4M3, 0.1});
  for (const std::int64_t dim : {1L, 6L, 16L, 20L, 64L, 75L}) {
    CacheRig rig(format.dtype, dim);
    CacheRig exact(DType::kF32, dim);
    for (const AttentionOptions& options : {AttentionOptions{}, AttentionOptions{0, 0.5F, 2.0F, 67}}) {
      CAPTURE(name_of(format.dtype), dim, options.window);
      const std::vector<float> expected = rig.attend(all_vector_kernels().front(), options);
      for (const VectorKernels& kernels : all_vector_kernels()) {
        const std::vector<float> out = rig.attend(kernels, options);
        if (std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)) != 0)
          FAIL_CHECK(kernels.name);
      }
      const std::vector<float> over_f32 = exact.attend(all_vector_kernels().front(), options);
      double worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::fabs(expected[i] - over_f32[i])));
      }
      CHECK(worst <= format.error);
      if (format.error > 0) CHECK(worst > 0);
    }
  }
}

TEST_CASE("the cost of attention counts what a cache keeps for each key: elements and scales") {
  const AttentionShape plain{4, 2, 64, 2.0, 4.0};
  const AttentionShape scaled{4, 2, 64, 1.0, 4.0, 4.0};
  CHECK(attention_decode_work(plain, 1, 10).bytes == 10 * 2 * 2 * 64 * 2 + 2 * 4 * 64 * 4);
  CHECK(attention_decode_work(scaled, 1, 10).bytes == 10 * 2 * 2 * (64 + 4) + 2 * 4 * 64 * 4);
  CHECK(soft_cap_work(2, 10, 4).bytes == 160);
}

TEST_CASE("the cost of a product counts the bytes of its blocks") {
  const WeightMatrix weight{DType::kQ4_1, 3, 64, nullptr};
  const Work work = gemm_work({2, 3, 64}, bits_per_element(weight.dtype) / 8, 4);
  CHECK(work.bytes == static_cast<double>(3 * weight.row_bytes()) + 2 * (3 + 64) * 4);
}

}  // namespace
}  // namespace servetwin::kv_elements_test
