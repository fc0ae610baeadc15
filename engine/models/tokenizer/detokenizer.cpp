// Bytes wait for the rest of their character; characters then pass the stop strings.
#include "engine/models/tokenizer/detokenizer.h"

#include <utility>

#include "engine/models/tokenizer/tokenizer.h"
#include "engine/models/tokenizer/utf8.h"

namespace servetwin {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, DetokenizerOptions options)
    : tokenizer_(tokenizer),
      options_(std::move(options)),
      stops_(options_.stop, options_.include_stop),
      may_strip_(tokenizer.strips_first_space() && !options_.continues) {}

std::string Detokenizer::feed(TokenId token) {
  ++tokens_;
  const TokenPiece* piece = tokenizer_.piece(token);
  if (piece == nullptr || (piece->special && options_.skip_special)) return "";
  bytes_ += piece->bytes;
  return stops_.feed(take_characters(false), tokens_ > options_.min_tokens);
}

std::string Detokenizer::finish() {
  const std::string text = stops_.feed(take_characters(true), tokens_ > options_.min_tokens);
  return text + stops_.finish();
}

std::string Detokenizer::take_characters(bool at_end) {
  std::string out;
  std::string_view rest = bytes_;
  while (!rest.empty()) {
    const Utf8Step step = next_utf8(rest);
    if (step.incomplete && !at_end) break;
    const std::size_t marks = tokenizer_.has_fallback() ? step.length : 1;
    if (step.valid) out += rest.substr(0, step.length);
    for (std::size_t i = 0; !step.valid && i < marks; ++i) out += kReplacementCharacter;
    rest.remove_prefix(step.length);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
  if (may_strip_ && !out.empty()) {
    if (out[0] == ' ') out.erase(0, 1);
    may_strip_ = false;
  }
  return out;
}

}  // namespace servetwin
