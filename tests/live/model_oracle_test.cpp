// If these fail, a model computes something else than its family: its logits differ from those of Hugging
// Face transformers, or of an implementation that agrees with it. tests/oracles/make_*_logits.py made them.
#include <cmath>
#include <set>

#include "engine/models/computable.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::model_oracle_test {
namespace {

using Rows = std::vector<std::vector<float>>;

// The largest difference over the largest logit.
double relative_error(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    difference =
        std::max(difference, std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])));
    largest = std::max(largest, std::abs(static_cast<double>(theirs[i])));
  }
  return difference / largest;
}

constexpr double kTolerance = 1e-4;

TEST_CASE("the oracle has models of every family, and all of them are computed") {
  std::set<std::string> families;
  for (const ModelOracle& one : model_oracles()) {
    CAPTURE(one.name);
    CHECK(why_not_computed(one.spec).empty());
    families.insert(one.spec.arch);
  }
  CHECK(families == std::set<std::string>{"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM",
                                          "Qwen3MoeForCausalLM", "MistralForCausalLM", "MixtralForCausalLM",
                                          "Phi3ForCausalLM", "Gemma3ForCausalLM", "DeepseekV2ForCausalLM",
                                          "DeepseekV3ForCausalLM"});
  CHECK(model_oracles().size() == 31);
}

TEST_CASE("logits of a whole prompt are those of the oracle") {
  for (const ModelOracle& one : model_oracles()) {
    CAPTURE(one.name);
    ModelRig rig(one.spec, one.weights, {one.tokens});
    CHECK(relative_error(rig.step({{0, 40}}).front(), one.logits[39]) <= kTolerance);
  }
}

TEST_CASE("logits of every position are those of the oracle, token by token") {
  for (const ModelOracle& one : model_oracles()) {
    CAPTURE(one.name);
    ModelRig rig(one.spec, one.weights, {one.tokens});
    double worst = 0;
    for (std::size_t i = 0; i < one.tokens.size(); ++i) {
      worst = std::max(worst, relative_error(rig.step({{0, 1}}).front(), one.logits[i]));
    }
    CHECK(worst <= kTolerance);
  }
}

TEST_CASE("logits of chunks in mixed batches are those of the oracle") {
  for (const ModelOracle& one : model_oracles()) {
    CAPTURE(one.name);
    const std::vector<TokenId> other(one.tokens.rbegin(), one.tokens.rend());
    ModelRig rig(one.spec, one.weights, {one.tokens, other, one.tokens}, 4);
    double worst = 0;
    while (rig.computed(0) < 40) {
      const std::int64_t chunk = std::min<std::int64_t>(7, 40 - rig.computed(0));
      const Rows logits = rig.step({{1, 2}, {0, chunk}, {2, 1}});
      worst = std::max(worst,
                       relative_error(logits[1], one.logits[static_cast<std::size_t>(rig.computed(0) - 1)]));
      worst = std::max(worst,
                       relative_error(logits[2], one.logits[static_cast<std::size_t>(rig.computed(2) - 1)]));
    }
    CHECK(worst <= kTolerance);
  }
}

}  // namespace
}  // namespace servetwin::model_oracle_test
