// If these fail, a model computes something else when its weights come from a file: a tensor lies in another
// one's place, or a real checkpoint's logits are not those of tests/oracles/make_smollm2_logits.py.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/live/model_text.h"
#include "engine/models/checkpoints/weight_source.h"
#include "tests/live/model_oracles.h"
#include "tests/support/catch.h"
#include "tests/support/smollm2_file.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin {
namespace {

using Json = nlohmann::json;

TEST_CASE("a checkpoint's logits have the bits of the same weights in memory, for every oracle's model") {
  for (const ModelOracle& model : model_oracles()) {
    CAPTURE(model.name);
    const TinyCheckpoint folder("oracle", model.config, model.spec, model.weights);
    const WeightSource source = open_weights(folder.path());
    const ModelWeights loaded = load_weights(source);
    ModelRig ours(model.spec, model.weights, {model.tokens});
    ModelRig theirs(source.spec(), loaded, {model.tokens});
    for (std::size_t i = 0; i < 10; ++i) CHECK(ours.step({{0, 1}}) == theirs.step({{0, 1}}));
  }
}

// The largest difference over the 32 largest logits, and that of the sum, relative to the largest logit.
double worst_error(const std::vector<float>& ours, const Json& position) {
  const auto ids = position.at("ids").get<std::vector<std::size_t>>();
  const auto logits = position.at("logits").get<std::vector<double>>();
  double worst = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(ours[ids[i]]) - logits[i]));
  }
  const double largest = static_cast<double>(*std::max_element(ours.begin(), ours.end()));
  double sum = 0;
  for (const float logit : ours) sum += std::exp(static_cast<double>(logit) - largest);
  worst = std::max(worst, std::abs(largest + std::log(sum) - position.at("log_sum").get<double>()));
  return worst / std::abs(logits.front());
}

TEST_CASE("SmolLM2-135M's logits are those of an implementation of its own over the same weights", "[slow]") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/smollm2_logits.json");
  const Json oracle = Json::parse(in);
  const WeightSource source = open_weights(file);
  const ModelWeights weights = load_weights(source);
  std::vector<std::vector<TokenId>> sequences;
  for (const Json& one : oracle.at("sequences"))
    sequences.push_back(one.at("tokens").get<std::vector<TokenId>>());
  REQUIRE(sequences.size() == 4);
  ModelRig rig(source.spec(), weights, sequences);
  double worst = 0;
  for (std::size_t position = 0; position < 32; ++position) {
    const auto logits = rig.step({{0, 1}, {1, 1}, {2, 1}, {3, 1}});
    for (std::size_t i = 0; i < 4; ++i) {
      worst = std::max(worst, worst_error(logits[i], oracle.at("sequences")[i].at("positions")[position]));
    }
  }
  INFO(worst);
  CHECK(worst <= 1e-4);
}

TEST_CASE("Gemma 3 270M's logits are those of transformers over the same file, beyond its window too",
          "[slow]") {
  const std::string file = gemma3_file();
  if (file.empty()) return;
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/gemma3_logits.json");
  const Json oracle = Json::parse(in);
  const WeightSource source = open_weights(file);
  const ModelWeights weights = load_weights(source);
  double worst = 0;
  for (const Json& one : oracle.at("sequences")) {
    const auto tokens = one.at("tokens").get<std::vector<TokenId>>();
    const Json& positions = one.at("positions");
    ModelRig rig(source.spec(), weights, {tokens}, 64);
    std::int64_t next = static_cast<std::int64_t>(tokens.size() - positions.size()) + 1;
    for (const Json& position : positions) {
      worst = std::max(worst, worst_error(rig.step({{0, next}}).front(), position));
      next = 1;
    }
  }
  INFO(worst);
  CHECK(worst <= 1e-4);
}

TEST_CASE("SmolLM2-135M says what the other implementation says, from a question to its end", "[slow]") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/smollm2_logits.json");
  const Json oracle = Json::parse(in);
  const WeightSource source = open_weights(file);
  const ModelWeights weights = load_weights(source);
  const ModelText text = gguf_model_text(*source.metadata());
  const auto prompt =
      text.tokenizer().encode(text.prompt_of({{"user", "What is the capital of France?"}}), {false, true});
  CHECK(prompt == oracle.at("chat").get<std::vector<TokenId>>());
  const auto greedy = oracle.at("greedy").get<std::vector<TokenId>>();
  std::vector<TokenId> tokens = prompt;
  tokens.insert(tokens.end(), greedy.begin(), greedy.end());
  ModelRig rig(source.spec(), weights, {tokens});
  std::int64_t next = static_cast<std::int64_t>(prompt.size());
  for (const TokenId token : greedy) {
    const std::vector<float> logits = rig.step({{0, next}}).front();
    CHECK(std::max_element(logits.begin(), logits.end()) - logits.begin() == token);
    next = 1;
  }
  CHECK(text.ends() == std::vector<TokenId>{greedy.back()});
  CHECK(text.tokenizer().decode(greedy, true) == "The capital of France is Paris.");
}

}  // namespace
}  // namespace servetwin
