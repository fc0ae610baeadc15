// The pipeline: added tokens, normaliser, added tokens again, pre-tokeniser, byte-pair encoding.
#include "engine/models/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/models/tokenizer/detokenizer.h"
#include "engine/models/tokenizer/utf8.h"

namespace servetwin {

Tokenizer::Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  has_fallback_ = std::any_of(parts_.pieces.begin(), parts_.pieces.end(),
                              [](const TokenPiece& piece) { return piece.fallback; });
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (text.size() > kMaxTokenizedBytes) {
    throw ConfigError(
        Problem{kCodeOutOfRange,
                {},
                "",
                "a text of " + format_grouped(std::int64_t(text.size())) + " bytes cannot be tokenised",
                "at most " + format_grouped(std::int64_t{kMaxTokenizedBytes}) + " bytes"});
  }
  const std::string clean = repaired_utf8(text);
  std::vector<TokenId> out;
  BpeScratch scratch;
  if (options.with_prefix_and_suffix) out = parts_.prefix;
  bool at_start = true;
  for (const TextSegment& raw : parts_.raw_added.split(clean, options.with_special)) {
    if (raw.token != kNoToken) {
      out.push_back(raw.token);
    } else {
      const std::string plain = normalized(parts_.normalizer, std::string(raw.text));
      bool first = at_start;
      for (const TextSegment& segment : parts_.normalized_added.split(plain, options.with_special)) {
        if (segment.token != kNoToken) out.push_back(segment.token);
        if (segment.token == kNoToken) encode_plain(std::string(segment.text), first, scratch, out);
        first = false;
      }
    }
    at_start = false;
  }
  if (options.with_prefix_and_suffix) out.insert(out.end(), parts_.suffix.begin(), parts_.suffix.end());
  return out;
}

void Tokenizer::encode_plain(std::string text,
                             bool at_start,
                             BpeScratch& scratch,
                             std::vector<TokenId>& out) const {
  const Words words = parts_.pre_tokenizer.split(std::move(text), at_start);
  for (std::size_t i = 0; i < words.ranges.size(); ++i) parts_.model.encode(words.word(i), scratch, out);
}

std::string Tokenizer::decode(const std::vector<TokenId>& tokens, bool skip_special) const {
  DetokenizerOptions options;
  options.skip_special = skip_special;
  Detokenizer detokenizer(*this, std::move(options));
  std::string text;
  for (const TokenId token : tokens) text += detokenizer.feed(token);
  return text + detokenizer.finish();
}

std::string Tokenizer::decode_bytes(const std::vector<TokenId>& tokens, bool skip_special) const {
  std::string bytes;
  for (const TokenId token : tokens) {
    const TokenPiece* known = piece(token);
    if (known != nullptr && !(known->special && skip_special)) bytes += known->bytes;
  }
  if (parts_.strip_first_space && bytes.starts_with(' ')) bytes.erase(0, 1);
  return bytes;
}

const TokenPiece* Tokenizer::piece(TokenId token) const {
  const bool known = token >= 0 && token < vocab_size();
  return known ? &parts_.pieces[static_cast<std::size_t>(token)] : nullptr;
}

std::string_view Tokenizer::text_of(TokenId token) const {
  return piece(token) == nullptr ? std::string_view() : parts_.texts[static_cast<std::size_t>(token)];
}

std::optional<TokenId> Tokenizer::find(std::string_view text) const {
  const auto found = std::find(parts_.texts.begin(), parts_.texts.end(), text);
  if (found == parts_.texts.end() || text.empty()) return std::nullopt;
  return static_cast<TokenId>(found - parts_.texts.begin());
}

}  // namespace servetwin
