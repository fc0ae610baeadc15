// What the two readers share: from token texts and merges to a tokenizer's tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/models/tokenizer/tokenizer.h"
#include "engine/models/tokenizer/tokenizer_error.h"

namespace servetwin {

inline constexpr std::size_t kMaxVocabulary = std::size_t{1} << 22U;
inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

using TokenIndex = std::unordered_map<std::string, TokenId>;

// Which kinds of vocabulary there are: letters for bytes, or text with U+2581 for spaces.
enum class Alphabet { bytes, text };

// The byte that "<0x0A>" stands for, or -1.
int fallback_byte(std::string_view token);

struct MergeTexts {
  std::string left;
  std::string right;
};

// Ranks by place in the list. Throws ConfigError for a part or a result that is no token.
std::vector<BpeMerge> merges_of(const std::vector<MergeTexts>& texts,
                                const TokenIndex& index,
                                const TokenizerPlace& place);

// What each token stands for in words; of byte letters, tokens with other characters never result.
std::vector<std::string> words_of(const std::vector<std::string>& texts, Alphabet alphabet);

// The table of byte tokens; throws ConfigError when one is missing and `words` would need it.
void set_fallback(BpeOptions& options,
                  const TokenIndex& index,
                  Alphabet alphabet,
                  const TokenizerPlace& place);

// How tokens are written back.
struct DecodeRules {
  Alphabet alphabet = Alphabet::bytes;
  bool byte_fallback = false;
  std::vector<ReplaceText> replacements;
};

std::vector<TokenPiece> pieces_of(const std::vector<std::string>& texts, const DecodeRules& rules);

// Adds a token to the finder that it belongs to, and marks its piece.
void add_token(TokenizerParts& parts, const AddedToken& token);

}  // namespace servetwin
