// Tiny random models of every family with the logits that another implementation gives, from tests/oracles.
#pragma once

#include <string>
#include <vector>

#include "engine/base/token_id.h"
#include "engine/models/weights.h"

namespace servetwin {

struct ModelOracle {
  std::string name;
  std::string config;  // text of config.json
  ModelSpec spec;
  ModelWeights weights;
  std::vector<TokenId> tokens;
  std::vector<std::vector<float>> logits;  // by position
};

const std::vector<ModelOracle>& model_oracles();

// The first model of each family; for what is not about its options, its shape is as good as any.
std::vector<const ModelOracle*> family_oracles();

}  // namespace servetwin
