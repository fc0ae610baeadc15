// If these fail, what the KV cache saves is another figure than what was computed: a kernel counts wrongly,
// the formula is not the model's, or a run without the cache still uses it.
#include "engine/live/forward_flops.h"

#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::forward_flops_test {
namespace {

StepRow row(std::int64_t context, std::int64_t tokens, bool sampled) {
  return {RequestId{1}, Tokens{tokens}, Tokens{context}, sampled};
}

TEST_CASE("of every family's model the kernels count the FLOPs of the formula, in chunks and in batches") {
  for (const ModelOracle& one : model_oracles()) {
    CAPTURE(one.name);
    const ForwardFlops formula(one.spec, one.weights);
    ModelRig rig(one.spec, one.weights, {one.tokens, one.tokens});
    std::int64_t expected = 0;
    const auto length = static_cast<std::int64_t>(one.tokens.size());
    rig.step({{0, length - 3}});
    expected += formula.with_cache({row(0, length - 3, true)});
    CHECK(rig.flops() == expected);
    rig.step({{0, 2}, {1, 5}});
    expected += formula.with_cache({row(length - 3, 2, true), row(0, 5, true)});
    CHECK(rig.flops() == expected);
    rig.step({{1, length - 5}, {0, 1}});
    expected += formula.with_cache({row(5, length - 5, true), row(length - 1, 1, true)});
    CHECK(rig.flops() == expected);
  }
}

TEST_CASE("an answer token by token takes the published sums, quadratic with a cache and cubic without") {
  const ModelOracle& llama = model_oracles().front();
  const ForwardFlops formula(llama.spec, llama.weights);
  std::int64_t with = 0;
  std::int64_t without = 0;
  for (std::int64_t n = 0; n < 50; ++n) {
    with += formula.with_cache({row(n, 1, true)});
    without += formula.without_cache({row(n, 1, true)});
  }
  CHECK(static_cast<double>(with) == generation_flops(llama.spec, 50, true));
  CHECK(static_cast<double>(without) == generation_flops(llama.spec, 50, false));
}

TEST_CASE("a window bounds the keys of each query, wherever the chunk lies") {
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    const ForwardFlops formula(model->spec, model->weights);
    std::int64_t one_by_one = 0;
    for (std::int64_t n = 0; n < 40; ++n) one_by_one += formula.with_cache({row(n, 1, false)});
    for (const std::int64_t cut : {1, 7, 8, 9, 16, 39}) {
      CHECK(formula.with_cache({row(0, cut, false), row(cut, 40 - cut, false)}) == one_by_one);
    }
  }
}

}  // namespace
}  // namespace servetwin::forward_flops_test
