// Recursive descent with Jinja's precedence: or, and, not, comparison, + -, ~, * / // %, unary, filters.
#include <algorithm>
#include <array>
#include <charconv>

#include "engine/models/chat_template/template_parser.h"

namespace servetwin {
namespace {

using TokenKind = TemplateToken::Kind;

constexpr int kMaxExpressionDepth = 100;
constexpr int kMaxHeight = 400;
constexpr std::array<std::string_view, 6> kComparisons{"==", "!=", "<=", ">=", "<", ">"};

// One more level of an expression; leaves it again at the end of its scope.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) { ++depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() { --depth_; }

 private:
  int& depth_;
};

}  // namespace

bool TemplateTokens::take_sign(std::string_view sign) {
  if (!is_sign(sign)) return false;
  take();
  return true;
}

bool TemplateTokens::take_word(std::string_view word) {
  if (!is_word(word)) return false;
  take();
  return true;
}

void TemplateTokens::expect_sign(std::string_view sign) {
  if (!take_sign(sign))
    reject_template(place(), "'" + std::string(sign) + "' is missing before '" + peek().text + "'");
}

void TemplateTokens::expect(TokenKind kind, std::string_view what) {
  if (!is(kind)) reject_template(place(), std::string(what) + " is missing before '" + peek().text + "'");
  take();
}

std::string TemplateTokens::expect_name() {
  if (!is(TokenKind::name)) reject_template(place(), "a name is missing before '" + peek().text + "'");
  return take().text;
}

TemplateExpressionPtr TemplateExpressionParser::make(Kind kind) const {
  auto made = std::make_unique<TemplateExpression>();
  made->kind = kind;
  made->line = tokens_.peek().line;
  return made;
}

void TemplateExpressionParser::enter() {
  if (depth_ > kMaxExpressionDepth) reject_template(tokens_.place(), "the expression is nested too deep");
}

void TemplateExpressionParser::grow(TemplateExpression& whole, const TemplateExpression* part) const {
  if (part == nullptr) return;
  whole.height = std::max(whole.height, part->height + 1);
  if (whole.height > kMaxHeight)
    reject_template(tokens_.place(), "the expression is too long or nested too deep");
}

void TemplateExpressionParser::attach(TemplateExpression& whole, TemplateExpressionPtr part) const {
  grow(whole, part.get());
  whole.parts.push_back(std::move(part));
}

TemplateExpressionPtr TemplateExpressionParser::parse(bool with_condition) {
  const Level level(depth_);
  enter();
  TemplateExpressionPtr value = parse_or();
  while (with_condition && tokens_.is_word("if")) {
    TemplateExpressionPtr chosen = make(Kind::conditional);
    tokens_.take();
    attach(*chosen, std::move(value));
    attach(*chosen, parse_or());
    attach(*chosen, tokens_.take_word("else") ? parse() : nullptr);
    value = std::move(chosen);
  }
  return value;
}

TemplateExpressionPtr TemplateExpressionParser::parse_or() {
  TemplateExpressionPtr left = parse_and();
  while (tokens_.is_word("or")) {
    TemplateExpressionPtr both = make(Kind::logical_or);
    tokens_.take();
    attach(*both, std::move(left));
    attach(*both, parse_and());
    left = std::move(both);
  }
  return left;
}

TemplateExpressionPtr TemplateExpressionParser::parse_and() {
  TemplateExpressionPtr left = parse_not();
  while (tokens_.is_word("and")) {
    TemplateExpressionPtr both = make(Kind::logical_and);
    tokens_.take();
    attach(*both, std::move(left));
    attach(*both, parse_not());
    left = std::move(both);
  }
  return left;
}

TemplateExpressionPtr TemplateExpressionParser::parse_not() {
  if (!tokens_.is_word("not")) return parse_compare();
  const Level level(depth_);
  enter();
  TemplateExpressionPtr negated = make(Kind::logical_not);
  tokens_.take();
  attach(*negated, parse_not());
  return negated;
}

TemplateExpressionPtr TemplateExpressionParser::parse_compare() {
  TemplateExpressionPtr chain = make(Kind::compare);
  attach(*chain, parse_binary(0));
  for (;;) {
    const bool is_sign = tokens_.is(TokenKind::sign) && std::find(kComparisons.begin(), kComparisons.end(),
                                                                  tokens_.peek().text) != kComparisons.end();
    if (is_sign) {
      chain->operators.push_back(tokens_.take().text);
    } else if (tokens_.take_word("in")) {
      chain->operators.emplace_back("in");
    } else if (tokens_.take_word("not")) {
      if (!tokens_.take_word("in")) reject_template(tokens_.place(), "'in' is missing after 'not'");
      chain->operators.emplace_back("not in");
    } else {
      break;
    }
    attach(*chain, parse_binary(0));
  }
  return chain->operators.empty() ? std::move(chain->parts[0]) : std::move(chain);
}

TemplateExpressionPtr TemplateExpressionParser::parse_binary(int level) {
  static const std::array<std::vector<std::string_view>, 3> kLevels{
      {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}}};
  if (level == 3) return parse_unary(true);
  TemplateExpressionPtr left = parse_binary(level + 1);
  const auto& signs = kLevels[static_cast<std::size_t>(level)];
  while (tokens_.is(TokenKind::sign) &&
         std::find(signs.begin(), signs.end(), tokens_.peek().text) != signs.end()) {
    TemplateExpressionPtr both = make(Kind::binary);
    both->text = tokens_.take().text;
    attach(*both, std::move(left));
    attach(*both, parse_binary(level + 1));
    left = std::move(both);
  }
  return left;
}

TemplateExpressionPtr TemplateExpressionParser::parse_unary(bool with_filters) {
  const Level level(depth_);
  enter();
  TemplateExpressionPtr value;
  if (tokens_.is_sign("-")) {
    value = make(Kind::negate);
    tokens_.take();
    attach(*value, parse_unary(false));
  } else {
    value = parse_postfix(parse_primary());
  }
  if (tokens_.is_sign("**")) refuse_template(tokens_.place(), "'**'");
  return with_filters ? parse_filters(std::move(value)) : std::move(value);
}

TemplateExpressionPtr TemplateExpressionParser::parse_primary() {
  TemplateExpressionPtr value = make(Kind::literal);
  if (tokens_.take_sign("(")) return parse_list(")");
  if (tokens_.take_sign("[")) return parse_list("]");
  if (tokens_.take_sign("{")) return parse_dict();
  const TemplateToken token = tokens_.take();
  TemplateValue& literal = value->value;
  const char* const begin = token.text.data();
  const char* const end = begin + token.text.size();
  if (token.kind == TokenKind::string) {
    literal.kind = TemplateValue::Kind::text;
    literal.text = token.text;
    while (tokens_.is(TokenKind::string)) literal.text += tokens_.take().text;
  } else if (token.kind == TokenKind::integer) {
    literal.kind = TemplateValue::Kind::integer;
    const bool fits = std::from_chars(begin, end, literal.integer).ec == std::errc();
    if (!fits) reject_template(tokens_.place(), "the number " + token.text + " is too large");
  } else if (token.kind == TokenKind::number) {
    literal.kind = TemplateValue::Kind::number;
    std::from_chars(begin, end, literal.number);
  } else if (token.kind != TokenKind::name) {
    reject_template(tokens_.place(), "a value is missing before '" + token.text + "'");
  } else if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
    literal.kind = TemplateValue::Kind::boolean;
    literal.flag = token.text[0] == 't' || token.text[0] == 'T';
  } else if (token.text == "none" || token.text == "None") {
    literal.kind = TemplateValue::Kind::none;
  } else {
    value->kind = Kind::name;
    value->text = token.text;
  }
  return value;
}

// A list, a tuple, which is read as a list, or an expression in parentheses.
TemplateExpressionPtr TemplateExpressionParser::parse_list(std::string_view close) {
  TemplateExpressionPtr list = make(Kind::list);
  bool has_comma = close == "]";
  while (!tokens_.is_sign(close)) {
    attach(*list, parse());
    if (!tokens_.take_sign(",")) break;
    has_comma = true;
  }
  tokens_.expect_sign(close);
  return has_comma || list->parts.empty() ? std::move(list) : std::move(list->parts[0]);
}

TemplateExpressionPtr TemplateExpressionParser::parse_dict() {
  TemplateExpressionPtr dict = make(Kind::dict);
  while (!tokens_.is_sign("}")) {
    attach(*dict, parse());
    tokens_.expect_sign(":");
    attach(*dict, parse());
    if (!tokens_.take_sign(",")) break;
  }
  tokens_.expect_sign("}");
  return dict;
}

TemplateExpressionPtr TemplateExpressionParser::parse_postfix(TemplateExpressionPtr base) {
  for (int count = 0;; ++count) {
    if (count > kMaxExpressionDepth) reject_template(tokens_.place(), "the expression is too long");
    if (tokens_.take_sign("[")) {
      base = parse_subscript(std::move(base));
    } else if (tokens_.is_sign(".")) {
      TemplateExpressionPtr field = make(Kind::attribute);
      tokens_.take();
      field->text = tokens_.expect_name();
      attach(*field, std::move(base));
      base = std::move(field);
    } else if (tokens_.is_sign("(")) {
      const bool is_method = base->kind == Kind::attribute;
      const bool known = is_method ? is_template_method(base->text)
                                   : base->kind == Kind::name && is_template_function(base->text);
      if (!known) refuse_template(tokens_.place(), "the call of '" + base->text + "'");
      tokens_.take();
      base->kind = is_method ? Kind::method : Kind::call;
      base->arguments = parse_arguments();
      for (const TemplateArgument& argument : base->arguments) grow(*base, argument.value.get());
    } else {
      return base;
    }
  }
}

TemplateExpressionPtr TemplateExpressionParser::parse_subscript(TemplateExpressionPtr base) {
  TemplateExpressionPtr out = make(Kind::item);
  attach(*out, std::move(base));
  for (;;) {
    const bool left_out = tokens_.is_sign(":") || tokens_.is_sign("]");
    attach(*out, left_out ? nullptr : parse());
    if (!tokens_.take_sign(":")) break;
    out->kind = Kind::slice;
  }
  tokens_.expect_sign("]");
  const bool too_many = out->parts.size() > 4 || (out->kind == Kind::item && out->parts[1] == nullptr);
  if (too_many) reject_template(tokens_.place(), "the subscript is wrong");
  if (out->kind == Kind::slice) out->parts.resize(4);
  return out;
}

TemplateExpressionPtr TemplateExpressionParser::parse_filters(TemplateExpressionPtr base) {
  for (int count = 0;; ++count) {
    if (count > kMaxExpressionDepth) reject_template(tokens_.place(), "the expression is too long");
    if (tokens_.is_sign("|")) {
      TemplateExpressionPtr filter = make(Kind::filter);
      tokens_.take();
      filter->text = tokens_.expect_name();
      if (!is_template_filter(filter->text))
        refuse_template(tokens_.place(), "the filter '" + filter->text + "'");
      attach(*filter, std::move(base));
      if (tokens_.take_sign("(")) filter->arguments = parse_arguments();
      for (const TemplateArgument& argument : filter->arguments) grow(*filter, argument.value.get());
      base = std::move(filter);
    } else if (tokens_.is_word("is")) {
      base = parse_test(std::move(base));
    } else {
      return base;
    }
  }
}

TemplateExpressionPtr TemplateExpressionParser::parse_test(TemplateExpressionPtr base) {
  TemplateExpressionPtr test = make(Kind::test);
  tokens_.take();
  const bool negated = tokens_.take_word("not");
  test->text = tokens_.expect_name();
  if (!is_template_test(test->text)) refuse_template(tokens_.place(), "the test '" + test->text + "'");
  attach(*test, std::move(base));
  const bool word = tokens_.is(TokenKind::name) && !tokens_.is_word("else") && !tokens_.is_word("or") &&
                    !tokens_.is_word("and") && !tokens_.is_word("if") && !tokens_.is_word("is") &&
                    !tokens_.is_word("not") && !tokens_.is_word("in");
  const bool bare = word || tokens_.is(TokenKind::string) || tokens_.is(TokenKind::integer) ||
                    tokens_.is(TokenKind::number) || tokens_.is_sign("[") || tokens_.is_sign("{");
  if (tokens_.take_sign("(")) {
    test->arguments = parse_arguments();
  } else if (bare) {
    test->arguments.push_back({"", parse_postfix(parse_primary())});
  }
  for (const TemplateArgument& argument : test->arguments) grow(*test, argument.value.get());
  if (!negated) return test;
  TemplateExpressionPtr out = make(Kind::logical_not);
  attach(*out, std::move(test));
  return out;
}

std::vector<TemplateArgument> TemplateExpressionParser::parse_arguments() {
  std::vector<TemplateArgument> arguments;
  while (!tokens_.is_sign(")")) {
    TemplateExpressionPtr value = parse();
    std::string name;
    if (value->kind == Kind::name && tokens_.take_sign("=")) {
      name = value->text;
      value = parse();
    }
    arguments.push_back({std::move(name), std::move(value)});
    if (!tokens_.take_sign(",")) break;
  }
  tokens_.expect_sign(")");
  return arguments;
}

}  // namespace servetwin
