// Reads the fixtures; weights are drawn again by the rule that the scripts follow.
#include "tests/support/model_oracles.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/models/config_json.h"

namespace servetwin {
namespace {

void read_oracles(const std::string& file, std::vector<ModelOracle>& all) {
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/" + file);
  for (const nlohmann::json& row : nlohmann::json::parse(in)) {
    ModelOracle one;
    one.name = row["name"].get<std::string>();
    one.config = row["config"].dump();
    one.spec = parse_model_config(one.config, one.name);
    one.weights = random_weights(one.spec, row["seed"].get<std::uint64_t>());
    one.tokens = row["tokens"].get<std::vector<TokenId>>();
    one.logits = row["logits"].get<std::vector<std::vector<float>>>();
    all.push_back(std::move(one));
  }
}

}  // namespace

const std::vector<ModelOracle>& model_oracles() {
  static const std::vector<ModelOracle> kAll = [] {
    std::vector<ModelOracle> all;
    read_oracles("llama_logits.json", all);
    read_oracles("family_logits.json", all);
    return all;
  }();
  return kAll;
}

std::vector<const ModelOracle*> family_oracles() {
  std::vector<const ModelOracle*> first;
  std::set<std::string> seen;
  for (const ModelOracle& one : model_oracles()) {
    if (seen.insert(one.spec.arch).second) first.push_back(&one);
  }
  return first;
}

}  // namespace servetwin
