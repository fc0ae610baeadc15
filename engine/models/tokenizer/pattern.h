// A pre-tokeniser's regular expression: written for Oniguruma, run by PCRE2 with the same meaning.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/models/tokenizer/tokenizer_error.h"

namespace servetwin {

struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The pattern as PCRE2 must read it; throws ConfigError naming any construct that the two engines could
// understand differently.
std::string pcre2_pattern(std::string_view pattern, const TokenizerPlace& place);

class Pattern {
 public:
  Pattern(std::string_view pattern, const TokenizerPlace& place);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  // The first match at or after `from` in valid UTF-8; it is never empty. Throws ConfigError when the search
  // takes more steps or memory than a text may cost.
  std::optional<TextRange> find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  TokenizerPlace place_;
};

}  // namespace servetwin
