// One pass over the text; comments vanish here.
#include "engine/models/chat_template/template_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

using TokenKind = TemplateToken::Kind;

constexpr std::array<std::string_view, 26> kSigns{"==", "!=", "<=", ">=", "//", "**", "+", "-", "*",
                                                  "/",  "%",  "~",  "<",  ">",  "=",  "(", ")", "[",
                                                  "]",  "{",  "}",  ",",  ":",  ".",  "|", ";"};

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// One newline at the end goes, and every line ends the same way.
std::string prepared(const std::string& source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
    if (!pair) out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string source, const std::string& file) : source_(std::move(source)), file_(file) {}

  std::vector<TemplateToken> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      text_until(tag);
      if (tag < source_.size()) take_tag();
    }
    tokens_.push_back({TokenKind::end, line_, ""});
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view text) const { return std::string_view(source_).substr(at_).starts_with(text); }

  [[noreturn]] void reject(const std::string& what) const { reject_template({file_, line_}, what); }

  std::size_t next_tag() const {
    for (std::size_t at = source_.find('{', at_); at != std::string::npos; at = source_.find('{', at + 1)) {
      const char next = at + 1 < source_.size() ? source_[at + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return source_.size();
  }

  void advance(std::size_t to) {
    line_ += static_cast<int>(
        std::count(source_.begin() + std::ptrdiff_t(at_), source_.begin() + std::ptrdiff_t(to), '\n'));
    at_ = to;
  }

  // The text before a tag, shortened as the tag's start asks.
  void text_until(std::size_t tag) {
    std::string text = source_.substr(at_, tag - at_);
    const char mark = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool is_tag = tag < source_.size();
    if (is_tag && mark == '-') {
      while (!text.empty() && is_space(text.back())) text.pop_back();
    } else if (is_tag && mark != '+' && source_[tag + 1] != '{') {
      const std::size_t line_start = text.rfind('\n') + 1;  // npos + 1 is 0
      const bool blank = std::all_of(text.begin() + std::ptrdiff_t(line_start), text.end(), is_space);
      if (blank && (line_start > 0 || line_starting_)) text.resize(line_start);
    }
    if (!text.empty()) tokens_.push_back({TokenKind::text, line_, text});
    advance(tag);
  }

  void take_tag() {
    const char type = source_[at_ + 1];
    const int line = line_;
    at_ += 2;
    const bool marked = starts("-") || (starts("+") && type != '{');
    if (marked) ++at_;
    if (type == '#') {
      const std::size_t end = source_.find("#}", at_);
      if (end == std::string::npos) reject("a comment is not closed");
      const bool trims = source_[end - 1] == '-' && end > at_;
      advance(end + 2);
      after_tag(trims, true);
      return;
    }
    tokens_.push_back({type == '{' ? TokenKind::output_begin : TokenKind::block_begin, line, ""});
    expression_tokens(type == '{' ? "}}" : "%}");
    tokens_.push_back({type == '{' ? TokenKind::output_end : TokenKind::block_end, line_, ""});
  }

  // White space after a tag: all of it, or one newline.
  void after_tag(bool trims, bool is_block) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    if (trims) {
      while (end < source_.size() && is_space(source_[end])) ++end;
    } else if (is_block && end < source_.size() && source_[end] == '\n') {
      ++end;
    }
    line_starting_ = end > begin && source_[end - 1] == '\n';
    advance(end);
  }

  bool take_end(std::string_view close) {
    const bool is_block = close == "%}";
    const std::string marked = "-" + std::string(close);
    const std::string kept = "+" + std::string(close);
    if (starts(marked)) {
      at_ += 3;
      after_tag(true, is_block);
    } else if (is_block && starts(kept)) {
      at_ += 3;
      line_starting_ = false;
    } else if (starts(close)) {
      at_ += 2;
      after_tag(false, is_block);
    } else {
      return false;
    }
    return true;
  }

  void expression_tokens(std::string_view close) {
    int depth = 0;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (is_space(c)) {
        advance(at_ + 1);
      } else if (depth == 0 && take_end(close)) {
        return;
      } else if (c == '"' || c == '\'') {
        string_token(c);
      } else if (is_digit(c)) {
        number_token();
      } else if (is_name_start(c)) {
        const std::size_t begin = at_;
        while (at_ < source_.size() && (is_name_start(source_[at_]) || is_digit(source_[at_]))) ++at_;
        tokens_.push_back({TokenKind::name, line_, source_.substr(begin, at_ - begin)});
      } else {
        sign_token(depth);
      }
    }
    reject("a tag is not closed");
  }

  void sign_token(int& depth) {
    const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [this](auto text) { return starts(text); });
    if (sign == kSigns.end()) reject("'" + source_.substr(at_, 1) + "' is unexpected");
    if (*sign == "(" || *sign == "[" || *sign == "{") ++depth;
    if (*sign == ")" || *sign == "]" || *sign == "}") --depth;
    if (depth < 0) reject("'" + std::string(*sign) + "' closes nothing");
    at_ += sign->size();
    tokens_.push_back({TokenKind::sign, line_, std::string(*sign)});
  }

  void number_token() {
    const std::size_t begin = at_;
    const auto digits = [this] {
      while (at_ < source_.size() && is_digit(source_[at_])) ++at_;
    };
    digits();
    const bool fraction = starts(".") && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]);
    if (fraction) {
      ++at_;
      digits();
    }
    const bool exponent = exponent_length() > 0;
    if (exponent) {
      at_ += exponent_length();
      digits();
    }
    if (at_ < source_.size() && is_name_start(source_[at_])) reject("a number is followed by a letter");
    tokens_.push_back({fraction || exponent ? TokenKind::number : TokenKind::integer, line_,
                       source_.substr(begin, at_ - begin)});
  }

  // Of "e", "e+" or "e-" where digits follow.
  std::size_t exponent_length() const {
    if (!starts("e") && !starts("E")) return 0;
    const char sign = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
    const std::size_t length = sign == '+' || sign == '-' ? 2 : 1;
    return at_ + length < source_.size() && is_digit(source_[at_ + length]) ? length : 0;
  }

  void string_token(char quote) {
    const int line = line_;
    std::string value;
    ++at_;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\') {
        escape(value);
      } else {
        value += source_[at_];
        advance(at_ + 1);
      }
    }
    if (at_ >= source_.size()) reject("a string is not closed");
    ++at_;
    tokens_.push_back({TokenKind::string, line, value});
  }

  // Python's; an escape that it does not know stays as it is.
  void escape(std::string& value) {
    constexpr std::string_view kNames = "nrtbfav\\'\"\n";
    constexpr std::string_view kValues = "\n\r\t\b\f\a\v\\'\"";
    const char name = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
    const std::size_t known = kNames.find(name);
    if (name == 'x' || name == 'u') {
      const std::size_t digits = name == 'x' ? 2 : 4;
      append_utf8(value, hex(at_ + 2, digits));
      at_ += 2 + digits;
      return;
    }
    if (is_digit(name) || name == 'U' || name == 'N') {
      refuse_template({file_, line_}, "the escape '\\" + std::string(1, name) + "'");
    }
    if (known == std::string_view::npos) value += '\\';
    if (known < kValues.size()) value += kValues[known];
    advance(at_ + (known == std::string_view::npos ? 1 : 2));
  }

  char32_t hex(std::size_t begin, std::size_t digits) const {
    char32_t code = 0;
    for (std::size_t i = begin; i < begin + digits; ++i) {
      const char c = i < source_.size() ? source_[i] : '\0';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) reject("an escape is cut short");
      const int digit = is_digit(c) ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
      code = code * 16 + static_cast<char32_t>(digit);
    }
    if (code >= 0xD800 && code < 0xE000) reject("an escape is half a character");
    return code;
  }

  std::string source_;
  const std::string& file_;
  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
};

}  // namespace

std::vector<TemplateToken> lex_template(const std::string& source, const std::string& file) {
  return Lexer(prepared(source), file).run();
}

}  // namespace servetwin
