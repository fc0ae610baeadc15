// Text to tokens and back, with the very ids that Hugging Face's tokenizers give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/token_id.h"
#include "engine/models/tokenizer/added_tokens.h"
#include "engine/models/tokenizer/bpe.h"
#include "engine/models/tokenizer/normalizer.h"
#include "engine/models/tokenizer/pre_tokenizer.h"

namespace servetwin {

inline constexpr std::size_t kMaxTokenizedBytes = std::size_t{64} << 20U;

// One token as answers are put together from it.
struct TokenPiece {
  std::string bytes;
  bool special = false;
  bool fallback = false;  // one byte of a character that is no token
};

// Everything that a tokenizer file decides. The readers fill it; its makers are in tokenizer_json.h and
// vocab_data.h.
struct TokenizerParts {
  std::vector<NormalizerStep> normalizer;
  AddedTokenFinder raw_added;         // found in the text as given
  AddedTokenFinder normalized_added;  // found after normalising
  PreTokenizer pre_tokenizer;
  BpeModel model;
  std::vector<TokenId> prefix;  // put before and after each text, for example BOS and EOS
  std::vector<TokenId> suffix;
  std::vector<TokenPiece> pieces;  // by id; an id that means nothing has no bytes
  std::vector<std::string> texts;  // by id: the token as its vocabulary writes it
  bool strip_first_space = false;  // of a decoded text
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
};

struct EncodeOptions {
  bool with_prefix_and_suffix = true;
  bool with_special = true;  // else text that looks like a special token stays text
};

class Tokenizer {
 public:
  explicit Tokenizer(TokenizerParts parts);

  // Broken UTF-8 is read as U+FFFD. Throws ConfigError for a text beyond kMaxTokenizedBytes or one that the
  // pre-tokeniser cannot split within its limits.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The text of the tokens; ids outside the vocabulary say nothing. Broken UTF-8 becomes U+FFFD: one for
  // each byte that came from the byte fallback, one for the longest start of a character otherwise.
  std::string decode(const std::vector<TokenId>& tokens, bool skip_special = false) const;

  // The same without a repair: bytes as they are.
  std::string decode_bytes(const std::vector<TokenId>& tokens, bool skip_special = false) const;

  std::int64_t vocab_size() const { return static_cast<std::int64_t>(parts_.pieces.size()); }
  // Null outside the vocabulary.
  const TokenPiece* piece(TokenId token) const;
  std::string_view text_of(TokenId token) const;
  std::optional<TokenId> find(std::string_view text) const;
  std::optional<TokenId> bos() const { return parts_.bos; }
  std::optional<TokenId> eos() const { return parts_.eos; }
  void set_ends(std::optional<TokenId> bos, std::optional<TokenId> eos) {
    parts_.bos = bos;
    parts_.eos = eos;
  }
  bool strips_first_space() const { return parts_.strip_first_space; }
  bool has_fallback() const { return has_fallback_; }

 private:
  void encode_plain(std::string text, bool at_start, BpeScratch& scratch, std::vector<TokenId>& out) const;

  TokenizerParts parts_;
  bool has_fallback_ = false;
};

}  // namespace servetwin
