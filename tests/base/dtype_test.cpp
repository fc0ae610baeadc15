// If this fails, weights or caches take another amount of memory than their format really does.
#include "engine/base/dtype.h"

#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::dtype_test {
namespace {

double mebibytes(DType type, std::int64_t row_length, std::int64_t num_rows) {
  const Parsed<Bytes> bytes = tensor_bytes(type, row_length, num_rows);
  REQUIRE(bytes);
  return static_cast<double>(bytes.value->value) / (1 << 20);
}

TEST_CASE("block formats take their effective bits exactly") {
  CHECK(bits_per_element(DType::kQ4_0) == 4.5);
  CHECK(bits_per_element(DType::kQ4_1) == 5.0);
  CHECK(bits_per_element(DType::kQ5_0) == 5.5);
  CHECK(bits_per_element(DType::kQ5_1) == 6.0);
  CHECK(bits_per_element(DType::kQ8_0) == 8.5);
  CHECK(bits_per_element(DType::kQ2_K) == 2.625);
  CHECK(bits_per_element(DType::kQ3_K) == 3.4375);
  CHECK(bits_per_element(DType::kQ4_K) == 4.5);
  CHECK(bits_per_element(DType::kQ5_K) == 5.5);
  CHECK(bits_per_element(DType::kQ6_K) == 6.5625);
  CHECK(bits_per_element(DType::kInt4G128) == 4.125);
  CHECK(bits_per_element(DType::kMxfp4) == 4.25);
  CHECK(bits_per_element(DType::kNvfp4) == 4.5);
}

TEST_CASE("plain formats take their bits, and no type is missing from the table") {
  CHECK(bits_per_element(DType::kF64) == 64);
  CHECK(bits_per_element(DType::kF32) == 32);
  CHECK(bits_per_element(DType::kBF16) == 16);
  CHECK(bits_per_element(DType::kF8E5M2) == 8);
  CHECK(bits_per_element(DType::kI4) == 4);
  CHECK(dtype_names().size() == 25);
}

TEST_CASE("tensors of public reports take the megabytes their loaders printed") {
  // llama.cpp#16379 and ik_llama.cpp#185; the first dimension is the row.
  CHECK(mebibytes(DType::kQ6_K, 2048, 7168 * 256) == 2940.0);
  CHECK(mebibytes(DType::kQ6_K, 2048, 7168) == 11.484375);
  CHECK(mebibytes(DType::kQ4_K, 512, 32768) == 9.0);
  CHECK(mebibytes(DType::kQ4_K, 7168, 576) == 2.21484375);
  CHECK(mebibytes(DType::kQ5_K, 16384, 7168) == 77.0);
  CHECK(mebibytes(DType::kQ5_0, 128, 65536) == 5.5);
}

TEST_CASE("a feed-forward layer with half its down matrices in Q6_K takes 4.84375 bits") {
  const double per_layer_pair = 5 * bits_per_element(DType::kQ4_K) + bits_per_element(DType::kQ6_K);
  CHECK(per_layer_pair / 6 == 4.84375);
}

TEST_CASE("a row that is no whole number of blocks is refused with both numbers") {
  const Parsed<Bytes> bytes = tensor_bytes(DType::kQ4_K, 128, 65536);
  CHECK_FALSE(bytes);
  CHECK(bytes.message == "a row of 128 elements cannot be Q4_K, whose blocks hold 256 elements");
}

TEST_CASE("a tensor too large for 64 bits is refused, and a negative shape is a broken invariant") {
  CHECK_FALSE(tensor_bytes(DType::kF32, 1LL << 40, 1LL << 40));
  CHECK_FALSE(tensor_bytes(DType::kF32, 1LL << 62, 1));
  make_checks_throw();
  CHECK_THROWS_AS(tensor_bytes(DType::kF32, -1, 1), BrokenInvariant);
}

TEST_CASE("bytes of a count round up to whole blocks") {
  CHECK(bytes_of(DType::kBF16, 3) == Bytes{6});
  CHECK(bytes_of(DType::kI4, 3) == Bytes{2});
  CHECK(bytes_of(DType::kQ4_0, 33) == Bytes{36});
  CHECK(bytes_of(DType::kQ4_0, 0) == Bytes{0});
}

TEST_CASE("types are found by their own name in any case and by the usual others") {
  for (const std::string& name : dtype_names()) {
    const auto type = dtype_from_name(name);
    REQUIRE(type.has_value());
    CHECK(name_of(*type) == name);
  }
  CHECK(dtype_from_name("q4_k") == DType::kQ4_K);
  CHECK(dtype_from_name("bfloat16") == DType::kBF16);
  CHECK(dtype_from_name("FP8") == DType::kF8E4M3);
  CHECK_FALSE(dtype_from_name("float12").has_value());
}

}  // namespace
}  // namespace servetwin::dtype_test
