// What a GGUF file says of its tokenizer, as plain data, and the tokenizer that it means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/models/tokenizer/tokenizer.h"

namespace servetwin {

// Values of tokenizer.ggml.token_type.
enum class VocabTokenType : std::int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

// Names are those of the keys under tokenizer.ggml.
struct VocabData {
  std::string model;  // "gpt2": byte-level with merges; "llama": SentencePiece BPE with scores
  std::string pre;    // the pre-tokeniser of a byte-level vocabulary
  std::vector<std::string> tokens;
  std::vector<float> scores;             // of "llama", one a token
  std::vector<std::int32_t> token_type;  // one a token; empty: all are normal
  std::vector<std::string> merges;       // of "gpt2": "left right"
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> unknown;
  std::optional<bool> add_bos;  // absent: what the family does
  std::optional<bool> add_eos;
  std::optional<bool> add_space_prefix;
};

// Throws ConfigError naming `file` for a model, a pre-tokeniser or a type of token that is not supported, and
// for data that contradict each other.
Tokenizer make_tokenizer(const VocabData& data, const std::string& file);

}  // namespace servetwin
