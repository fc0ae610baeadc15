// If these fail, a model computes something else when its weights come from a file: a tensor lies in another
// one's place, or a real checkpoint's logits are not those of Hugging Face transformers.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/live/model_text.h"
#include "engine/models/checkpoints/weight_source.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"
#include "tests/support/smollm2_file.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::checkpoint_test {
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

// What another implementation gives at one position.
struct Expected {
  double log_sum = 0;            // of the exponentials of all logits
  std::vector<double> logits;    // the largest first
  std::vector<std::size_t> ids;  // of `logits`
};

// The largest difference over those logits, and that of the sum, relative to the largest logit.
double worst_error(const std::vector<float>& ours, const Expected& theirs) {
  double worst = 0;
  for (std::size_t i = 0; i < theirs.ids.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(ours[theirs.ids[i]]) - theirs.logits[i]));
  }
  const double largest = static_cast<double>(*std::max_element(ours.begin(), ours.end()));
  double sum = 0;
  for (const float logit : ours) sum += std::exp(static_cast<double>(logit) - largest);
  worst = std::max(worst, std::abs(largest + std::log(sum) - theirs.log_sum));
  return worst / std::abs(theirs.logits.front());
}

TokenId most_likely(const std::vector<float>& logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::ifstream open_oracle(const std::string& name) {
  return std::ifstream(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/" + name, std::ios::binary);
}

Json read_oracle(const std::string& name) {
  std::ifstream in = open_oracle(name);
  return Json::parse(in);
}

// What smollm2_logits.bin has for each token but the last of `text`, as tests/oracles/make_smollm2_logits.py
// writes it: the 32 largest logits, to which the one of the token that follows is added.
std::vector<Expected> read_positions(std::ifstream& in, const std::vector<TokenId>& text) {
  struct Record {
    float log_sum;
    float next;
    std::array<float, 32> logits;
    std::array<std::uint16_t, 32> ids;
  };
  static_assert(sizeof(Record) == 200);
  std::vector<Expected> positions;
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::array<char, sizeof(Record)> bytes{};
    REQUIRE(in.read(bytes.data(), sizeof(Record)));
    const auto record = std::bit_cast<Record>(bytes);
    Expected& position = positions.emplace_back();
    position.log_sum = static_cast<double>(record.log_sum);
    position.logits.assign(record.logits.begin(), record.logits.end());
    position.ids.assign(record.ids.begin(), record.ids.end());
    position.logits.push_back(static_cast<double>(record.next));
    position.ids.push_back(static_cast<std::size_t>(text[i]));
  }
  return positions;
}

TEST_CASE("SmolLM2-135M's logits are those of transformers over the same file, in 20 texts of 64 tokens",
          "[slow]") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  const auto texts = read_oracle("smollm2_logits.json").at("tokens").get<std::vector<std::vector<TokenId>>>();
  REQUIRE(texts.size() == 20);
  std::vector<std::vector<Expected>> expected;
  std::ifstream in = open_oracle("smollm2_logits.bin");
  for (const auto& text : texts) expected.push_back(read_positions(in, text));
  const WeightSource source = open_weights(file);
  const ModelWeights weights = load_weights(source);
  ModelRig rig(source.spec(), weights, texts);
  std::vector<RigRow> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({i, 1});
  double worst = 0;
  int equal_first = 0;
  for (std::size_t position = 0; position < 64; ++position) {
    const auto logits = rig.step(rows);
    for (std::size_t i = 0; i < 20; ++i) {
      const Expected& theirs = expected[i].at(position);
      worst = std::max(worst, worst_error(logits[i], theirs));
      equal_first += static_cast<std::size_t>(most_likely(logits[i])) == theirs.ids.front() ? 1 : 0;
    }
  }
  INFO(worst);
  CHECK(worst <= 1e-4);
  CHECK(equal_first == 20 * 64);
}

TEST_CASE("Gemma 3 270M's logits are those of transformers over the same file, beyond its window too",
          "[slow]") {
  const std::string file = gemma3_file();
  if (file.empty()) return;
  const Json oracle = read_oracle("gemma3_logits.json");
  const WeightSource source = open_weights(file);
  const ModelWeights weights = load_weights(source);
  double worst = 0;
  for (const Json& one : oracle.at("sequences")) {
    const auto tokens = one.at("tokens").get<std::vector<TokenId>>();
    const Json& positions = one.at("positions");
    ModelRig rig(source.spec(), weights, {tokens}, 64);
    std::int64_t next = static_cast<std::int64_t>(tokens.size() - positions.size()) + 1;
    for (const Json& position : positions) {
      const Expected theirs{position.at("log_sum").get<double>(),
                            position.at("logits").get<std::vector<double>>(),
                            position.at("ids").get<std::vector<std::size_t>>()};
      worst = std::max(worst, worst_error(rig.step({{0, next}}).front(), theirs));
      next = 1;
    }
  }
  INFO(worst);
  CHECK(worst <= 1e-4);
}

TEST_CASE("SmolLM2-135M says what transformers' greedy generation says, for 64 tokens or to its end",
          "[slow]") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  const Json questions = read_oracle("smollm2_texts.json").at("questions");
  const Json answers = read_oracle("smollm2_logits.json").at("answers");
  REQUIRE(questions.size() == answers.size());
  const WeightSource source = open_weights(file);
  const ModelWeights weights = load_weights(source);
  const ModelText text = gguf_model_text(*source.metadata());
  std::size_t longest = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto prompt =
        text.tokenizer().encode(text.prompt_of({{"user", questions[i].get<std::string>()}}), {false, true});
    CHECK(prompt == answers[i].at("prompt").get<std::vector<TokenId>>());
    const auto greedy = answers[i].at("tokens").get<std::vector<TokenId>>();
    std::vector<TokenId> tokens = prompt;
    tokens.insert(tokens.end(), greedy.begin(), greedy.end());
    ModelRig rig(source.spec(), weights, {tokens});
    const auto length = static_cast<std::int64_t>(prompt.size());
    std::vector<TokenId> ours = {most_likely(rig.step({{0, length}}).front())};
    while (ours.size() < greedy.size() && ours.back() == greedy[ours.size() - 1]) {
      ours.push_back(most_likely(rig.step({{0, 1}}).front()));
    }
    CHECK(ours == greedy);
    CHECK((greedy.size() == 64 || text.ends() == std::vector<TokenId>{greedy.back()}));
    longest = std::max(longest, greedy.size());
  }
  CHECK(longest == 64);
  const auto first = answers[0].at("tokens").get<std::vector<TokenId>>();
  CHECK(text.tokenizer().decode(first, true) == "The capital of France is Paris.");
}

TEST_CASE("SmolLM2-135M's texts have the tokens of the oracle's tokenizer") {
  const std::string file = smollm2_file();
  if (is_absent(file)) return;
  const Json texts = read_oracle("smollm2_texts.json").at("texts");
  const Json tokens = read_oracle("smollm2_logits.json").at("tokens");
  const WeightSource source = open_weights(file);
  const ModelText text = gguf_model_text(*source.metadata());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto ids = text.tokenizer().encode(texts[i].get<std::string>(), {false, true});
    ids.resize(65);
    CHECK(ids == tokens[i].get<std::vector<TokenId>>());
  }
}

}  // namespace
}  // namespace servetwin::checkpoint_test
