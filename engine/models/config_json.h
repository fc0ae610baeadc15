// Reads a Hugging Face config.json into a ModelSpec.
#pragma once

#include <string>

#include "engine/models/spec.h"

namespace servetwin {

// Of a folder that holds config.json. Throws ConfigError naming the file, the field and the values; nested
// multimodal configs are read from their text_config. The spec's name is the folder as given.
ModelSpec read_model_folder(const std::string& folder);

// The same from text; `file` is for messages.
ModelSpec parse_model_config(const std::string& text, const std::string& file);

}  // namespace servetwin
