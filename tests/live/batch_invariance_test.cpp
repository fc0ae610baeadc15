// If these fail, a token depends on what else is in the batch, on how a prompt was cut, on threads or on
// where its keys lie: then a live run cannot be repeated, and a preemption changes an answer.
#include "engine/base/rng.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::batch_invariance_test {
namespace {

constexpr std::int64_t kLength = 150;  // more than two tiles of keys
constexpr std::uint64_t kSeed = 5;

std::vector<TokenId> text(std::uint64_t stream, std::int64_t length = kLength) {
  std::vector<TokenId> tokens;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(length); ++i) {
    tokens.push_back(static_cast<TokenId>(draw_u64({kSeed, Stream::kTest, stream}, i) % 37));
  }
  return tokens;
}

std::vector<float> whole(const ModelOracle& model, std::int64_t block_size = 16) {
  ModelRig rig(model.spec, model.weights, {text(0)}, block_size);
  return rig.step({{0, kLength}}).front();
}

TEST_CASE("logits are bit-equal for every chunk size") {
  const ModelOracle& model = *GENERATE(from_range(family_oracles()));
  CAPTURE(model.name);
  const std::vector<float> expected = whole(model);
  for (const std::int64_t chunk : {1, 2, 3, 7, 16, 17, 64, 100, 149}) {
    CAPTURE(chunk);
    ModelRig rig(model.spec, model.weights, {text(0)});
    std::vector<float> last;
    while (rig.computed(0) < kLength) {
      last = rig.step({{0, std::min(chunk, kLength - rig.computed(0))}}).front();
    }
    CHECK(last == expected);
  }
}

TEST_CASE("logits are bit-equal in batches of 1 to 32, wherever the row stands, with 1 and 2 threads") {
  const ModelOracle& model = *GENERATE(from_range(family_oracles()));
  CAPTURE(model.name);
  const std::vector<float> expected = whole(model);
  for (const int threads : {1, 2}) {
    for (const int batch : {1, 2, 3, 5, 8, 13, 32}) {
      CAPTURE(threads, batch);
      std::vector<std::vector<TokenId>> sequences;
      for (int i = 0; i < batch; ++i)
        sequences.push_back(text(i == batch / 2 ? 0 : 100 + static_cast<std::uint64_t>(i)));
      ModelRig rig(model.spec, model.weights, sequences, 16, threads);
      std::vector<RigRow> rows;
      for (int i = 0; i < batch; ++i) rows.push_back({i, i == batch / 2 ? kLength - 1 : 1 + i});
      rig.step(rows);
      for (RigRow& row : rows) row.tokens = 1;
      CHECK(rig.step(rows)[static_cast<std::size_t>(batch / 2)] == expected);
    }
  }
}

TEST_CASE("logits are bit-equal for every block size") {
  const ModelOracle& model = *GENERATE(from_range(family_oracles()));
  CAPTURE(model.name);
  const std::vector<float> expected = whole(model);
  for (const std::int64_t size : {10, 32, 64}) CHECK(whole(model, size) == expected);
}

TEST_CASE(
    "logits are bit-equal when the prompt's beginning is another sequence's, computed in the same step") {
  const ModelOracle& model = *GENERATE(from_range(family_oracles()));
  CAPTURE(model.name);
  const std::vector<float> expected = whole(model);
  ModelRig rig(model.spec, model.weights, {text(0), text(0)});
  rig.share(0, 1, 9);
  CHECK(rig.step({{0, kLength}, {1, kLength - 9 * 16}}).back() == expected);
}

TEST_CASE("logits are bit-equal when a sequence is thrown out after every token and computed again") {
  const ModelOracle& model = *GENERATE(from_range(family_oracles()));
  CAPTURE(model.name);
  const auto length = std::int64_t{40};
  ModelRig kept(model.spec, model.weights, {text(0, length)});
  ModelRig thrown(model.spec, model.weights, {text(0, length)});
  for (std::int64_t i = 1; i <= length; ++i) {
    thrown.forget(0);
    CHECK(kept.step({{0, 1}}) == thrown.step({{0, i}}));
  }
}

TEST_CASE("logits are bit-equal when a sequence goes to the host and back after every token") {
  const ModelOracle& model = *GENERATE(from_range(family_oracles()));
  CAPTURE(model.name);
  const auto length = std::int64_t{40};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
    CAPTURE(name_of(dtype));
    ModelRig kept(model.spec, model.weights, {text(0, length)}, 16, 1, dtype);
    ModelRig swapped(model.spec, model.weights, {text(0, length)}, 16, 1, dtype);
    for (std::int64_t i = 0; i < length; ++i) {
      CHECK(kept.step({{0, 1}}) == swapped.step({{0, 1}}));
      swapped.swap(0);
    }
  }
}

}  // namespace
}  // namespace servetwin::batch_invariance_test
