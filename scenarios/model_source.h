// A model by what a scenario or the command line calls it: its shape, its weights, its text.
#pragma once

#include <cstdint>
#include <string>

#include "engine/live/model_text.h"
#include "engine/models/spec.h"
#include "engine/models/weights.h"

namespace servetwin {

// A name of the catalogue, a folder with config.json, or a GGUF file. Throws ConfigError.
ModelSpec named_model(const std::string& name);

// Why the model cannot be computed here, or empty: the catalogue knows shapes only, but for the models whose
// weights are drawn.
std::string why_no_weights(const std::string& name);

// In f32: drawn from the seed for a model of the catalogue that begins with servetwin/, else read. Throws
// ConfigError when the files are not whole or not this model's.
ModelWeights named_weights(const std::string& name, const ModelSpec& spec, std::uint64_t seed);

// Bytes as tokens for a model whose weights are drawn. Throws ConfigError.
ModelText named_text(const std::string& name);

}  // namespace servetwin
