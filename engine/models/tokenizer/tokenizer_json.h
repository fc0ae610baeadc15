// Reads Hugging Face's tokenizer.json.
#pragma once

#include <string>

#include "engine/models/tokenizer/tokenizer.h"

namespace servetwin {

// `file` is for messages. What the file asks for is done exactly or refused by name with a ConfigError.
Tokenizer parse_tokenizer_json(const std::string& text, const std::string& file);

// Of a folder: tokenizer.json, and tokenizer_config.json for the names of BOS and EOS where it is there.
Tokenizer read_tokenizer_folder(const std::string& folder);

}  // namespace servetwin
