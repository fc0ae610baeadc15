// Lets through what means the same to Oniguruma and PCRE2, spelling out the one class on which they differ.
#include <algorithm>
#include <array>
#include <cctype>

#include "engine/models/tokenizer/pattern.h"

namespace servetwin {
namespace {

// Oniguruma's \s; PCRE2's would take U+180E too.
constexpr std::string_view kSpaces =
    "\\t-\\r\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::array<std::string_view, 13> kCategories{"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",
                                                       "Mn", "N",  "Nd", "P",  "S",  "Z"};
constexpr std::array<std::string_view, 5> kGroups{"(?:", "(?i:", "(?!", "(?=", "("};

bool is_punctuation(char c) {
  return c > ' ' && c < 0x7F && std::isalnum(static_cast<unsigned char>(c)) == 0;
}

class Translator {
 public:
  Translator(std::string_view pattern, const TokenizerPlace& place) : rest_(pattern), place_(place) {}

  std::string run() {
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == '\\') {
        escape(false);
      } else if (c == '[') {
        character_class();
      } else if (c == '(') {
        group();
      } else if (c == '?' || c == '*' || c == '+' || c == '{') {
        quantifier();
      } else if (c == '^' || c == '.') {
        refuse(1);
      } else {
        take(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::size_t length) const {
    refuse_tokenizer(place_, "'" + std::string(rest_.substr(0, length)) + "' in a regular expression");
  }

  void take(std::size_t count) {
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }

  void escape(bool in_class) {
    const char next = rest_.size() > 1 ? rest_[1] : '\0';
    if (next == 's' || (next == 'S' && !in_class)) {
      if (!in_class) out_ += next == 's' ? "[" : "[^";
      out_ += kSpaces;
      if (!in_class) out_ += "]";
      rest_.remove_prefix(2);
    } else if (next == 'p' || next == 'P') {
      category();
    } else if (next == 'r' || next == 'n' || next == 't' || next == 'd' || is_punctuation(next)) {
      take(2);
    } else {
      refuse(2);
    }
  }

  void category() {
    const std::size_t end = std::min(rest_.find('}'), rest_.size());
    const std::string_view name = rest_.size() > 3 && rest_[2] == '{' ? rest_.substr(3, end - 3) : "";
    const bool known =
        end < rest_.size() && std::find(kCategories.begin(), kCategories.end(), name) != kCategories.end();
    if (!known) refuse(end + 1);
    take(end + 1);
  }

  void character_class() {
    take(1);
    if (rest_.starts_with('^')) take(1);
    if (rest_.starts_with(']')) refuse(1);
    while (!rest_.starts_with(']')) {
      if (rest_.empty()) reject_tokenizer(place_, "a character class is not closed");
      if (rest_[0] == '[' || rest_.starts_with("&&")) refuse(2);  // nested sets
      if (rest_[0] == '\\') {
        escape(true);
      } else {
        take(1);
      }
    }
    take(1);
  }

  void group() {
    for (const std::string_view opening : kGroups) {
      const bool other = opening == "(" && rest_.starts_with("(?");
      if (!rest_.starts_with(opening) || other) continue;
      take(opening.size());
      return;
    }
    refuse(3);
  }

  // Lazy and possessive forms are read differently after {m,n}.
  void quantifier() {
    const std::size_t length = rest_[0] == '{' ? rest_.find('}') + 1 : 1;
    const std::string_view counts = rest_.substr(1, std::max<std::size_t>(length, 2) - 2);
    const bool digits =
        std::all_of(counts.begin(), counts.end(), [](char c) { return (c >= '0' && c <= '9') || c == ','; });
    const bool open = rest_[0] == '{' && (!digits || counts.empty() || counts[0] == ',');
    if (length == 0 || open) refuse(rest_.size());
    const char next = length < rest_.size() ? rest_[length] : '\0';
    if (next == '?' || next == '+' || next == '*') refuse(length + 1);
    take(length);
  }

  std::string_view rest_;
  const TokenizerPlace& place_;
  std::string out_;
};

}  // namespace

std::string pcre2_pattern(std::string_view pattern, const TokenizerPlace& place) {
  return Translator(pattern, place).run();
}

}  // namespace servetwin
