// A ModelSpec from a GGUF file: what config.json says for safetensors, its metadata and tensor names say
// here.
#pragma once

#include <string>
#include <vector>

#include "engine/models/checkpoints/gguf.h"
#include "engine/models/spec.h"

namespace servetwin {

// Throws ConfigError naming the architecture when it is not one of `gguf_architectures`, and naming the key
// when a value is missing, contradicts another or is a variant that a ModelSpec cannot say.
ModelSpec gguf_model_spec(const GgufFile& gguf);

std::vector<std::string> gguf_architectures();

}  // namespace servetwin
