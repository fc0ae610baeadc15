// Eight floats in one AVX2 register. No multiply-add: the lanes have the bits of PortableFloats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>

namespace servetwin {

// The members are those of PortableFloats.
struct Avx2Floats {
  static constexpr int kSize = 8;

  struct Ints {
    __m256i lanes;

    static Ints all(std::int32_t value) { return {_mm256_set1_epi32(value)}; }
    static Ints bytes(const std::byte* from) { return {_mm256_cvtepu8_epi32(eight_bytes(from))}; }
    static Ints signed_bytes(const std::byte* from) { return {_mm256_cvtepi8_epi32(eight_bytes(from))}; }
    static Ints words(const std::byte* from) { return {_mm256_cvtepu16_epi32(sixteen_bytes(from))}; }
    Ints left(int bits) const { return {_mm256_slli_epi32(lanes, bits)}; }
    Ints right(int bits) const { return {_mm256_srli_epi32(lanes, bits)}; }
    Ints right_by_lane() const {
      return {_mm256_srlv_epi32(lanes, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))};
    }
    Ints operator&(Ints other) const { return {_mm256_and_si256(lanes, other.lanes)}; }
    Ints operator|(Ints other) const { return {_mm256_or_si256(lanes, other.lanes)}; }
    Ints operator+(Ints other) const { return {_mm256_add_epi32(lanes, other.lanes)}; }
  };

  __m256 lanes;

  static Avx2Floats all(float value) { return {_mm256_set1_ps(value)}; }
  static Avx2Floats load(const float* from) { return {_mm256_loadu_ps(from)}; }
  void store(float* to) const { _mm256_storeu_ps(to, lanes); }
  static float half(const std::byte* from) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return _cvtsh_ss(bits);
  }
  static Avx2Floats halves(const std::byte* from) { return {_mm256_cvtph_ps(sixteen_bytes(from))}; }
  static Avx2Floats of(Ints values) { return {_mm256_cvtepi32_ps(values.lanes)}; }
  static Avx2Floats from_bits(Ints values) { return {_mm256_castsi256_ps(values.lanes)}; }
  Ints to_bits() const { return {_mm256_castps_si256(lanes)}; }
  static Avx2Floats min(Avx2Floats a, Avx2Floats b) { return {_mm256_min_ps(a.lanes, b.lanes)}; }
  static Avx2Floats max(Avx2Floats a, Avx2Floats b) { return {_mm256_max_ps(a.lanes, b.lanes)}; }
  Avx2Floats zero_where_below(Avx2Floats tested, Avx2Floats limit) const {
    return {_mm256_andnot_ps(_mm256_cmp_ps(tested.lanes, limit.lanes, _CMP_LT_OQ), lanes)};
  }
  Avx2Floats operator+(Avx2Floats other) const { return {_mm256_add_ps(lanes, other.lanes)}; }
  Avx2Floats operator-(Avx2Floats other) const { return {_mm256_sub_ps(lanes, other.lanes)}; }
  Avx2Floats operator*(Avx2Floats other) const { return {_mm256_mul_ps(lanes, other.lanes)}; }
  Avx2Floats operator/(Avx2Floats other) const { return {_mm256_div_ps(lanes, other.lanes)}; }
  float sum() const {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

 private:
  static __m128i eight_bytes(const std::byte* from) {
    std::int64_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return _mm_cvtsi64_si128(bits);
  }
  static __m128i sixteen_bytes(const std::byte* from) {
    __m128i value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
};

}  // namespace servetwin
