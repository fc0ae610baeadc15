// If these fail, the model computes something else than Llama: its logits differ from those of Hugging Face
// transformers, or of an implementation that agrees with it. tests/oracles/make_llama_logits.py made them.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/models/config_json.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"

namespace servetwin {
namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<float>>;

struct Oracle {
  std::string name;
  ModelSpec spec;
  LlamaWeights weights;
  std::vector<TokenId> tokens;
  Rows logits;  // by position
};

std::vector<Oracle> oracles() {
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/llama_logits.json");
  std::vector<Oracle> all;
  for (const Json& row : Json::parse(in)) {
    Oracle one;
    one.name = row["name"].get<std::string>();
    one.spec = parse_model_config(row["config"].dump(), one.name);
    one.weights = random_llama_weights(one.spec, row["seed"].get<std::uint64_t>());
    one.tokens = row["tokens"].get<std::vector<TokenId>>();
    one.logits = row["logits"].get<Rows>();
    all.push_back(std::move(one));
  }
  return all;
}

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

TEST_CASE("the oracle has grouped, multi and single query heads, ties, biases and scaled rotary embeddings") {
  const std::vector<Oracle> all = oracles();
  REQUIRE(all.size() == 8);
  for (const Oracle& one : all) CHECK(why_not_llama(one.spec).empty());
}

TEST_CASE("logits of a whole prompt are those of the oracle") {
  for (const Oracle& one : oracles()) {
    CAPTURE(one.name);
    ModelRig rig(one.spec, one.weights, {one.tokens});
    CHECK(relative_error(rig.step({{0, 40}}).front(), one.logits[39]) <= kTolerance);
  }
}

TEST_CASE("logits of every position are those of the oracle, token by token") {
  for (const Oracle& one : oracles()) {
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
  for (const Oracle& one : oracles()) {
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
}  // namespace servetwin
