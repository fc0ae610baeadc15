// If these fail, a block of a model with windows has another size than in vLLM, or a cache with scales has
// another than its formula.
#include "engine/models/kv_layout.h"

#include "engine/models/kv_format.h"
#include "tests/support/catch.h"

namespace servetwin::kv_layout_test {
namespace {

// Layer l sees all where (l + 1) is a multiple of `nth`; 0: none does.
ModelSpec model_of(std::int64_t layers, std::int64_t nth) {
  ModelSpec model;
  model.layers = layers;
  model.hidden = 64;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_dim = 128;
  model.sliding_window = 1024;
  if (nth == 0) return model;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    model.full_attention.push_back((layer + 1) % nth == 0);
  return model;
}

void check_layout(const ModelSpec& model, std::int64_t groups, std::int64_t windowed, std::int64_t layers) {
  const KvLayout layout = windowed_kv_layout(model);
  CHECK(layout.tables() == groups);
  CHECK(layout.layers_per_block == layers);
  std::vector<int> seen(static_cast<std::size_t>(model.layers), 0);
  std::int64_t with_windows = 0;
  for (const KvLayerGroup& group : layout.groups) {
    with_windows += group.window > 0 ? 1 : 0;
    CHECK(static_cast<std::int64_t>(group.layers.size()) <= layers);
    for (const std::int64_t layer : group.layers) {
      ++seen[static_cast<std::size_t>(layer)];
      CHECK(layer_spec(model, layer).window == group.window);
    }
  }
  CHECK(with_windows == windowed);
  CHECK(seen == std::vector<int>(seen.size(), 1));
}

TEST_CASE("layers are grouped as in vLLM: alike, of equal size, every nth into each group") {
  check_layout(model_of(32, 0), 1, 1, 32);  // Mistral
  check_layout(model_of(24, 2), 2, 1, 12);  // gpt-oss
  check_layout(model_of(62, 6), 7, 6, 10);  // Gemma 3 27B: 52 and 10
  check_layout(model_of(26, 6), 7, 6, 4);   // Gemma 3 1B: 22 and 4
  check_layout(model_of(5, 2), 3, 2, 2);    // 3 and 2: half as many again is too many to pad
  check_layout(model_of(9, 2), 2, 1, 5);    // 5 and 4: padded
  const KvLayout layout = windowed_kv_layout(model_of(6, 3));
  REQUIRE(layout.tables() == 3);
  CHECK(layout.groups[0].layers == std::vector<std::int64_t>{0, 3});
  CHECK(layout.groups[1].layers == std::vector<std::int64_t>{1, 4});
  CHECK(layout.groups[2].layers == std::vector<std::int64_t>{2, 5});
  CHECK(layout.groups[2].window == 0);
}

TEST_CASE("without windows, or kept whole, there is one table of all layers") {
  ModelSpec model = model_of(32, 0);
  CHECK(whole_kv_layout(model).layers_per_block == 32);
  CHECK_FALSE(whole_kv_layout(model).has_windows());
  model.sliding_window.reset();
  CHECK(windowed_kv_layout(model).tables() == 1);
  CHECK_FALSE(windowed_kv_layout(model).has_windows());
}

TEST_CASE("an 8-bit cache holds what its formula with scales says") {
  const ModelSpec model = model_of(32, 0);
  const auto bytes = [&](DType dtype, KvScales scales, int tp = 1) {
    return kv_token_bytes(model, {dtype, scales}, tp, 32).value;
  };
  const std::int64_t elements = 2 * 4 * 128 * 32;
  for (const DType dtype : {DType::kI8, DType::kF8E4M3}) {
    CHECK(bytes(dtype, KvScales::kTensor) == elements);
    CHECK(bytes(dtype, KvScales::kHead) == elements);
    CHECK(bytes(dtype, KvScales::kToken) == elements + 4 * 2 * 32);
    CHECK(bytes(dtype, KvScales::kTokenHead) == elements + 4 * 2 * 4 * 32);
    CHECK(bytes(dtype, KvScales::kTokenHead, 2) == elements / 2 + 4 * 2 * 2 * 32);
  }
  for (const KvScales scales : {KvScales::kTensor, KvScales::kTokenHead})
    CHECK(bytes(DType::kBF16, scales) == 2 * elements);
  ModelSpec latent = model;
  latent.mla.kv_lora_rank = 512;
  latent.mla.qk_rope_head_dim = 64;
  CHECK(kv_token_bytes(latent, {DType::kF8E4M3, KvScales::kTokenHead}, 8, 3) == Bytes{3 * (576 + 4)});
}

}  // namespace
}  // namespace servetwin::kv_layout_test
