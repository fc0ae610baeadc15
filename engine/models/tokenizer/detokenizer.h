// Tokens to text as they come: whole characters only, and nothing that could become a stop string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/token_id.h"
#include "engine/models/tokenizer/stop_strings.h"

namespace servetwin {

class Tokenizer;

struct DetokenizerOptions {
  bool skip_special = true;
  bool continues = false;         // the text goes on from a prompt: its first space is kept
  std::vector<std::string> stop;  // none of them empty
  bool include_stop = false;
  std::int64_t min_tokens = 0;  // no stop string ends within so many tokens
};

// The deltas of a text; joined they are Tokenizer::decode of all its tokens, cut at the stop string.
class Detokenizer {
 public:
  // `tokenizer` must outlive it.
  Detokenizer(const Tokenizer& tokenizer, DetokenizerOptions options);

  // The text that this token completes; often none. After a stop string there is no more.
  std::string feed(TokenId token);

  // The rest, when no more tokens come: an unfinished character as U+FFFD, and what was held for a stop.
  std::string finish();

  // Whether a stop string ended the text; the token fed last completed it.
  bool stopped() const { return stops_.matched(); }

 private:
  std::string take_characters(bool at_end);

  const Tokenizer& tokenizer_;
  DetokenizerOptions options_;
  StopStrings stops_;
  std::string bytes_;  // not yet a character
  bool may_strip_ = false;
  std::int64_t tokens_ = 0;
};

}  // namespace servetwin
