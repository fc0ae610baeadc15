// What Hugging Face's tokenizers made of texts, and the comparison with ours.
#pragma once

#include <string>
#include <vector>

#include "engine/models/tokenizer/tokenizer.h"

namespace servetwin {

struct OracleEncoding {
  std::string bytes;
  std::vector<TokenId> ids;
  std::vector<TokenId> plain;      // without BOS and EOS
  std::vector<TokenId> unspecial;  // and with special tokens read as text
  std::string text;                // the ids decoded
};

struct OracleDecoding {
  std::vector<TokenId> ids;
  std::string text;
  std::string skipped;  // without special tokens
};

struct OracleFamily {
  std::string name;
  std::string sha256;  // of the vocabulary's file; empty for those in the project
  std::vector<OracleEncoding> encodings;
  std::vector<OracleDecoding> decodings;
};

std::string read_whole_file(const std::string& path);

// Of tests/oracles/tokenizers/ids.json or real_ids.json.
std::vector<OracleFamily> read_oracle(const std::string& path);

}  // namespace servetwin
