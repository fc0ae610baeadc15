// If these fail, CUDA attention sees other keys than its CPU twin, weighs them otherwise, or depends on who
// runs first.
#include <string>
#include <vector>

#include "tests/emulator/attention_rig.h"
#include "tests/emulator/machine.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::attention_test {
namespace {

AttentionShape small_shape(DType dtype, std::int64_t head_dim) {
  AttentionShape shape;
  shape.dtype = dtype;
  shape.cached = dtype;
  shape.kv_heads = 2;
  shape.group = 3;
  shape.head_dim = head_dim;
  return shape;
}

}  // namespace

TEST_CASE("CUDA decode attention equals the CPU's for shapes by chance") {
  for (std::uint64_t name = 0; name < 24; ++name) {
    const AttentionShape shape = some_shape(name, true);
    CAPTURE(name, name_of(shape.dtype), name_of(shape.cached), shape.head_dim, shape.group,
            shape.options.window);
    const Emulation emulation({name, {}});
    CHECK(AttentionCase(shape, name).decode_matches());
  }
}

TEST_CASE("CUDA prefill attention equals the CPU's for shapes by chance") {
  for (std::uint64_t name = 100; name < 116; ++name) {
    const AttentionShape shape = some_shape(name, false);
    CAPTURE(name, name_of(shape.dtype), name_of(shape.cached), shape.head_dim, shape.group,
            shape.options.window);
    const Emulation emulation({name, {}});
    CHECK(AttentionCase(shape, name).prefill_matches());
  }
}

TEST_CASE("CUDA decode attention splits keys at fixed positions, and a row's result is its own") {
  AttentionShape shape = small_shape(DType::kBF16, 16);
  shape.block_size = 16;
  for (const std::int32_t keys : {1, 256, 257}) {
    CAPTURE(keys);
    shape.queries = {1};
    shape.keys = {keys};
    const AttentionCase alone(shape, 7);
    CHECK(alone.decode_matches());
    shape.queries = {1, 1};
    shape.keys = {keys, 600};
    const std::vector<float> both = AttentionCase(shape, 7).decode();
    shape.keys = {keys, 3};
    const std::vector<float> other = AttentionCase(shape, 7).decode();
    CHECK(std::equal(both.begin(), both.begin() + 6 * 16, other.begin()));
  }
}

TEST_CASE("CUDA decode attention over latents takes the beginnings of keys for values") {
  AttentionShape shape = small_shape(DType::kF16, 576);
  shape.kv_heads = 1;
  shape.group = 5;
  shape.is_latent = true;
  shape.options.value_dim = 512;
  shape.options.scale = 0.1F;
  shape.queries = {1, 1};
  shape.keys = {9, 0};
  CHECK(AttentionCase(shape, 14).decode_matches());
  shape.head_dim = 24;
  shape.options.value_dim = 10;
  shape.keys = {300, 5};
  CHECK(AttentionCase(shape, 15).decode_matches());
}

TEST_CASE("CUDA attention bears scores of hundreds, and keys at the edges of windows and tiles") {
  for (const DType dtype : kFloatTypes) {
    AttentionShape shape = small_shape(dtype, 40);
    shape.kv_heads = shape.group = 1;
    shape.magnitude = 12;
    shape.queries = {1};
    shape.keys = {70};
    CHECK(AttentionCase(shape, 8).decode_matches());
    CHECK(AttentionCase(shape, 8).prefill_matches());
    shape.magnitude = 1;
    for (const std::int64_t window : {1, 31, 32, 33, 64}) {
      CAPTURE(name_of(dtype), window);
      shape.options.window = window;
      shape.queries = {66};
      shape.keys = {97};
      CHECK(AttentionCase(shape, 9).prefill_matches());
    }
  }
}

TEST_CASE("no barrier of CUDA decode attention can go") {
  AttentionShape shape = small_shape(DType::kF32, 16);
  shape.queries = {1, 1};
  shape.keys = {40, 300};
  check_no_barrier_can_go(2, [&] { return AttentionCase(shape, 10).decode_matches(); });
}

TEST_CASE("no barrier of CUDA prefill attention can go") {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    AttentionShape shape = small_shape(dtype, 16);
    shape.kv_heads = shape.group = 1;
    shape.queries = {20};
    shape.keys = {70};
    check_no_barrier_can_go(dtype == DType::kF32 ? 3 : 4,
                            [&] { return AttentionCase(shape, 11).prefill_matches(); });
  }
}

TEST_CASE("mutants of CUDA decode attention are noticed: rescaling, head map, last key, padded row") {
  AttentionShape shape = small_shape(DType::kF32, 16);
  shape.queries = {1, 1};
  shape.keys = {0, 300};
  const AttentionCase both(shape, 12);
  CHECK(both.decode_matches());
  CHECK(is_noticed([&] { return both.decode_matches(decode_without_rescale::paged_decode_cuda); }));
  CHECK(is_noticed([&] { return both.decode_matches(decode_with_wrong_heads::paged_decode_cuda); }));
  CHECK(is_noticed([&] { return both.decode_matches(decode_without_last_key::paged_decode_cuda); }));
  CHECK(is_noticed([&] { return both.decode_matches(decode_of_padded_rows::paged_decode_cuda); }));
  shape.keys = {3, 300};
  CHECK_FALSE(is_noticed(
      [&] { return AttentionCase(shape, 12).decode_matches(decode_of_padded_rows::paged_decode_cuda); }));
}

TEST_CASE("mutants of CUDA prefill attention are noticed: rescaling, own key, tail block, head map") {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    AttentionShape shape = small_shape(dtype, 16);
    shape.group = 2;
    shape.queries = {66};
    shape.keys = {70};
    const AttentionCase ragged(shape, 13);
    CHECK(ragged.prefill_matches());
    CHECK(is_noticed([&] { return ragged.prefill_matches(prefill_without_rescale::paged_prefill_cuda); }));
    CHECK(is_noticed([&] { return ragged.prefill_matches(prefill_without_own_key::paged_prefill_cuda); }));
    CHECK(is_noticed([&] { return ragged.prefill_matches(prefill_without_tail::paged_prefill_cuda); }));
    CHECK(is_noticed([&] { return ragged.prefill_matches(prefill_with_wrong_heads::paged_prefill_cuda); }));
  }
}

}  // namespace servetwin::emulator::attention_test
