// Tokens that are found in the text as they stand, before anything else is done to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/token_id.h"

namespace servetwin {

struct AddedToken {
  TokenId id = kNoToken;
  std::string content;
  bool special = false;      // of the format, not of the text: left out of answers
  bool single_word = false;  // only where no letter touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // looked for in the normalised text
};

struct TextSegment {
  std::string_view text;
  TokenId token = kNoToken;  // or plain text
};

// Finds a set of tokens in one pass: the leftmost, and of those the longest.
class AddedTokenFinder {
 public:
  // `pattern` is what to look for: the token's content, normalised where it has to be. Not empty.
  void add(const AddedToken& token, std::string_view pattern);

  // The text cut at the tokens found. Without `with_special` the special ones are ordinary text.
  std::vector<TextSegment> split(std::string_view text, bool with_special) const;

 private:
  struct Match {
    std::size_t length = 0;
    std::int32_t token = -1;  // in tokens_; -1: none
  };

  Match longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  std::vector<std::int32_t> ends_{-1};              // by node: the token that ends there
  FlatMap<std::uint64_t, std::uint32_t> children_;  // of (node, byte)
};

}  // namespace servetwin
