// Tiny random models of every family with the logits that another implementation gives, from tests/oracles.
#pragma once

#include <string>
#include <vector>

#include "engine/models/weights.h"
#include "tests/live/live_model_rig.h"

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

}  // namespace servetwin
