// If these fail, weights in blocks or a small KV cache change what a model says by more than their rounding,
// or by what else is in the batch; or the cache takes other memory than was planned.
#include <algorithm>
#include <cmath>

#include "engine/base/rng.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/tiny_llama.h"

namespace servetwin::stored_formats_test {
namespace {

constexpr std::int64_t kLength = 100;

ModelSpec tiny() {
  ModelSpec spec = tiny_llama(53, 512);
  spec.layers = 2;
  spec.hidden = 256;
  spec.heads = 6;
  spec.kv_heads = 2;
  spec.head_dim = 16;
  spec.intermediate = 256;
  return spec;
}

std::vector<TokenId> text(std::uint64_t stream) {
  std::vector<TokenId> tokens;
  for (std::uint32_t i = 0; i < kLength; ++i) {
    tokens.push_back(static_cast<TokenId>(draw_u64({6, Stream::kTest, stream}, i) % 53));
  }
  return tokens;
}

// Random bits as blocks of a format, their f16 scales replaced by ones that keep weights small.
StoredMatrix blocks(DType type, std::int64_t rows, std::int64_t columns, std::uint64_t entity) {
  const BlockLayout layout = layout_of(type);
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < rows * columns / layout.block_elements * layout.block_bytes; ++i) {
    const std::uint64_t draw = draw_u64({6, Stream::kTest, entity}, static_cast<std::uint32_t>(i));
    bytes.push_back(static_cast<std::byte>(draw & 255U));
  }
  if (layout.block_elements == 1) {  // the upper byte of each element: sign, and an exponent near 2^-6
    const std::byte exponent = type == DType::kBF16 ? std::byte{0x3C} : std::byte{0x24};
    for (std::size_t at = 1; at < bytes.size(); at += 2) {
      bytes[at] = (bytes[at] & std::byte{0x80}) | exponent;
    }
    return {type, rows, columns, std::move(bytes)};
  }
  const bool is_k = layout.block_elements == 256;
  const std::size_t scale = type == DType::kQ6_K ? 208 : 0;
  for (std::size_t at = scale; at < bytes.size(); at += static_cast<std::size_t>(layout.block_bytes)) {
    bytes[at + 1] = is_k ? std::byte{0x04} : std::byte{0x14};  // some 2^-14, some 2^-10
    if (type == DType::kQ6_K || type == DType::kQ4_0 || type == DType::kQ5_0 || type == DType::kQ8_0)
      continue;
    bytes[at + 3] = is_k ? std::byte{0x04} : std::byte{0x94};
  }
  return {type, rows, columns, std::move(bytes)};
}

template <class Action>
void for_each_matrix(ModelWeights& weights, const Action& action) {
  action(weights.embedding);
  action(weights.head);
  for (LayerWeights& layer : weights.layers) {
    for (StoredMatrix* matrix : {&layer.query, &layer.key, &layer.value, &layer.output, &layer.dense.gate,
                                 &layer.dense.up, &layer.dense.down}) {
      action(*matrix);
    }
  }
}

ModelWeights with_blocks(DType type) {
  ModelWeights weights = random_weights(tiny(), 3);
  std::uint64_t entity = 20;
  const auto replace = [&](StoredMatrix& matrix) {
    if (matrix.columns % layout_of(type).block_elements == 0) {
      matrix = blocks(type, matrix.rows, matrix.columns, ++entity);
    }
  };
  for_each_matrix(weights, replace);
  return weights;
}

ModelWeights in_f32(ModelWeights weights) {
  const auto replace = [](StoredMatrix& matrix) {
    matrix = f32_matrix(matrix.rows, matrix.columns, floats_of(matrix));
  };
  for_each_matrix(weights, replace);
  return weights;
}

std::vector<float> whole(const ModelWeights& weights, DType kv_dtype = DType::kF32) {
  ModelRig rig(tiny(), weights, {text(0)}, 16, 1, kv_dtype);
  return rig.step({{0, kLength}}).front();
}

// The same row in chunks, and in a batch with others on two threads.
void check_invariance(const ModelWeights& weights, DType kv_dtype, const std::vector<float>& expected) {
  for (const std::int64_t chunk : {1, 7, 33}) {
    ModelRig rig(tiny(), weights, {text(0)}, 16, 1, kv_dtype);
    std::vector<float> last;
    while (rig.computed(0) < kLength) {
      last = rig.step({{0, std::min(chunk, kLength - rig.computed(0))}}).front();
    }
    CHECK(last == expected);
  }
  for (const int others : {1, 2, 7}) {
    std::vector<std::vector<TokenId>> sequences{text(0)};
    std::vector<RigRow> rows{{0, kLength - 1}};
    for (int i = 1; i <= others; ++i) {
      sequences.push_back(text(static_cast<std::uint64_t>(i)));
      rows.push_back({i, 3 * i});
    }
    ModelRig rig(tiny(), weights, sequences, 16, 2, kv_dtype);
    rig.step(rows);
    for (RigRow& row : rows) row.tokens = 1;
    CHECK(rig.step(rows).front() == expected);
  }
}

TEST_CASE("weights in blocks give the bits of the same weights in f32, in every chunk and batch") {
  const DType type = GENERATE(DType::kBF16, DType::kF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                              DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K);
  CAPTURE(name_of(type));
  const ModelWeights weights = with_blocks(type);
  const std::vector<float> expected = whole(in_f32(weights));
  REQUIRE(std::all_of(expected.begin(), expected.end(), [](float logit) { return std::isfinite(logit); }));
  CHECK(expected.front() != expected.back());
  CHECK(whole(weights) == expected);
  check_invariance(weights, DType::kF32, expected);
}

TEST_CASE("a small KV cache moves logits by no more than its rounding, the same in every chunk and batch") {
  struct Bound {
    DType dtype;
    double error;  // of a logit, relative to the largest
  };
  const Bound bound = GENERATE(Bound{DType::kF16, 5e-4}, Bound{DType::kBF16, 4e-3}, Bound{DType::kI8, 5e-3},
                               Bound{DType::kF8E4M3, 4e-2});
  CAPTURE(name_of(bound.dtype));
  const ModelWeights weights = random_weights(tiny(), 3);
  const std::vector<float> exact = whole(weights);
  const std::vector<float> rounded = whole(weights, bound.dtype);
  float largest = 0;
  float worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::fabs(exact[i]));
    worst = std::max(worst, std::fabs(exact[i] - rounded[i]));
  }
  INFO(worst / largest);
  CHECK(worst > 0);
  CHECK(static_cast<double>(worst / largest) <= bound.error);
  check_invariance(weights, bound.dtype, rounded);
}

TEST_CASE("a pool takes the bytes of the memory model, and four a vector where each has a scale") {
  const ModelSpec spec = tiny();
  const Blocks blocks{5};
  const Tokens size{16};
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kF8E4M3}) {
    CAPTURE(name_of(type));
    const Bytes planned = kv_bytes_per_token(spec, type) * (blocks.value * size.value);
    const Bytes scales{has_scales(type) ? 4 * 2 * spec.layers * spec.kv_heads * blocks.value * size.value
                                        : 0};
    CHECK(KvPool(spec, blocks, size, type).bytes() == planned + scales);
    CHECK(KvPool::bytes(spec, blocks, size, type) == planned + scales);
  }
}

}  // namespace
}  // namespace servetwin::stored_formats_test
