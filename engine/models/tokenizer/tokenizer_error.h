// What a tokenizer file may be refused for.
#pragma once

#include <string>

namespace servetwin {

// Where something stands: the file and the path of keys in it.
struct TokenizerPlace {
  std::string file;
  std::string path;

  TokenizerPlace at(const std::string& key) const { return {file, path.empty() ? key : path + "." + key}; }
};

// The file asks for something this program does not do exactly as the original does. Throws ConfigError.
[[noreturn]] void refuse_tokenizer(const TokenizerPlace& place, const std::string& what);

// The file contradicts itself or its format. Throws ConfigError.
[[noreturn]] void reject_tokenizer(const TokenizerPlace& place, const std::string& what);

}  // namespace servetwin
