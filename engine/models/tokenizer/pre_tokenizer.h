// Cuts text into the words that byte-pair encoding never merges across.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/models/tokenizer/pattern.h"

namespace servetwin {

// What becomes of the parts that match.
enum class SplitBehavior {
  isolated,              // words of their own
  removed,               // gone
  merged_with_previous,  // the end of the word before them
  merged_with_next,      // the start of the word after them
};

struct SplitStep {
  std::variant<std::string, Pattern> delimiter;  // plain text or a regular expression
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // the parts that do not match are the delimiters
};

// A space before each word that does not start with one.
struct PrefixSpaceStep {};

// SentencePiece's: a space is written as U+2581, and the start of a text counts as a space.
struct MetaspaceStep {
  enum class Prepend { never, first, always };
  std::string replacement;
  Prepend prepend = Prepend::always;
  bool split = true;
};

using PreTokenizerStep = std::variant<SplitStep, PrefixSpaceStep, MetaspaceStep>;

// Text and the words in it, in order, without gaps unless a step removes parts.
struct Words {
  std::string text;
  std::vector<TextRange> ranges;

  std::string_view word(std::size_t i) const {
    return std::string_view(text).substr(ranges[i].begin, ranges[i].end - ranges[i].begin);
  }
};

class PreTokenizer {
 public:
  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  // The words of valid UTF-8; `at_start`: nothing of the input comes before it.
  Words split(std::string text, bool at_start) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

// GPT-2's own pattern, which ByteLevel uses unless told not to.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace servetwin
