// Letters to bytes, texts to ids.
#include "engine/models/tokenizer/token_table.h"

#include <cstdint>

#include "engine/models/tokenizer/byte_alphabet.h"

namespace servetwin {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string byte_token(int byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const std::size_t value = static_cast<std::size_t>(byte);
  return {'<', '0', 'x', kDigits[value / 16], kDigits[value % 16], '>'};
}

TokenId id_of(const std::string& text, const TokenIndex& index, const TokenizerPlace& place) {
  const auto found = index.find(text);
  if (found == index.end()) reject_tokenizer(place, "'" + text + "' is merged but is no token");
  return found->second;
}

std::string piece_bytes(const std::string& text, const DecodeRules& rules) {
  if (rules.alphabet == Alphabet::bytes) return bytes_of_letters(text).value_or(text);
  std::string bytes = text;
  for (const ReplaceText& replacement : rules.replacements) bytes = replaced(bytes, replacement);
  return bytes;
}

}  // namespace

int fallback_byte(std::string_view token) {
  const bool framed = token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
  if (!framed) return -1;
  const int high = hex_digit(token[3]);
  const int low = hex_digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::vector<BpeMerge> merges_of(const std::vector<MergeTexts>& texts,
                                const TokenIndex& index,
                                const TokenizerPlace& place) {
  std::vector<BpeMerge> merges;
  merges.reserve(texts.size());
  for (const MergeTexts& text : texts) {
    const std::uint32_t rank = static_cast<std::uint32_t>(merges.size());
    merges.push_back({id_of(text.left, index, place), id_of(text.right, index, place),
                      id_of(text.left + text.right, index, place), rank});
  }
  return merges;
}

std::vector<std::string> words_of(const std::vector<std::string>& texts, Alphabet alphabet) {
  if (alphabet == Alphabet::text) return texts;
  std::vector<std::string> words;
  words.reserve(texts.size());
  for (const std::string& text : texts) words.push_back(bytes_of_letters(text).value_or(""));
  return words;
}

void set_fallback(BpeOptions& options,
                  const TokenIndex& index,
                  Alphabet alphabet,
                  const TokenizerPlace& place) {
  if (alphabet == Alphabet::bytes) refuse_tokenizer(place, "a byte fallback of a byte-level vocabulary");
  options.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = index.find(byte_token(byte));
    options.fallback[static_cast<std::size_t>(byte)] = found == index.end() ? kNoToken : found->second;
  }
}

std::vector<TokenPiece> pieces_of(const std::vector<std::string>& texts, const DecodeRules& rules) {
  std::vector<TokenPiece> pieces;
  pieces.reserve(texts.size());
  for (const std::string& text : texts) {
    const int byte = rules.byte_fallback ? fallback_byte(text) : -1;
    if (byte >= 0) {
      pieces.push_back({std::string(1, static_cast<char>(static_cast<unsigned char>(byte))), false, true});
    } else {
      pieces.push_back({piece_bytes(text, rules)});
    }
  }
  return pieces;
}

void add_token(TokenizerParts& parts, const AddedToken& token) {
  parts.pieces[static_cast<std::size_t>(token.id)].special = token.special;
  if (!token.normalized) {
    parts.raw_added.add(token, token.content);
    return;
  }
  const std::string pattern = normalized(parts.normalizer, token.content);
  if (!pattern.empty()) parts.normalized_added.add(token, pattern);
}

}  // namespace servetwin
