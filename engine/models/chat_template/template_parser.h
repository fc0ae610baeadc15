// Expressions of the template language, from tokens; statements are built on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/models/chat_template/template_lexer.h"

namespace servetwin {

class TemplateTokens {
 public:
  TemplateTokens(std::vector<TemplateToken> tokens, std::string file)
      : tokens_(std::move(tokens)), file_(std::move(file)) {}

  const TemplateToken& peek() const { return tokens_[at_]; }
  const TemplateToken& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(TemplateToken::Kind kind) const { return peek().kind == kind; }
  bool is_sign(std::string_view sign) const { return is(TemplateToken::Kind::sign) && peek().text == sign; }
  bool is_word(std::string_view word) const { return is(TemplateToken::Kind::name) && peek().text == word; }
  bool take_sign(std::string_view sign);
  bool take_word(std::string_view word);
  void expect_sign(std::string_view sign);
  void expect(TemplateToken::Kind kind, std::string_view what);
  std::string expect_name();
  TemplatePlace place() const { return {file_, peek().line}; }

 private:
  std::vector<TemplateToken> tokens_;
  std::string file_;
  std::size_t at_ = 0;
};

class TemplateExpressionParser {
 public:
  explicit TemplateExpressionParser(TemplateTokens& tokens) : tokens_(tokens) {}

  // One expression, with "a if b else c" unless told not to, as a loop's source must be.
  TemplateExpressionPtr parse(bool with_condition = true);

 private:
  using Kind = TemplateExpression::Kind;

  TemplateExpressionPtr make(Kind kind) const;
  TemplateExpressionPtr parse_or();
  TemplateExpressionPtr parse_and();
  TemplateExpressionPtr parse_not();
  TemplateExpressionPtr parse_compare();
  TemplateExpressionPtr parse_binary(int level);
  TemplateExpressionPtr parse_unary(bool with_filters);
  TemplateExpressionPtr parse_primary();
  TemplateExpressionPtr parse_list(std::string_view close);
  TemplateExpressionPtr parse_dict();
  TemplateExpressionPtr parse_postfix(TemplateExpressionPtr base);
  TemplateExpressionPtr parse_subscript(TemplateExpressionPtr base);
  TemplateExpressionPtr parse_filters(TemplateExpressionPtr base);
  TemplateExpressionPtr parse_test(TemplateExpressionPtr base);
  std::vector<TemplateArgument> parse_arguments();
  void enter();
  // Makes `part` the next part of `whole`, or an argument of it.
  void attach(TemplateExpression& whole, TemplateExpressionPtr part) const;
  void grow(TemplateExpression& whole, const TemplateExpression* part) const;

  TemplateTokens& tokens_;
  int depth_ = 0;
};

// Whether the name is one that can be run; anything else is refused where it is read.
bool is_template_function(std::string_view name);
bool is_template_method(std::string_view name);
bool is_template_filter(std::string_view name);
bool is_template_test(std::string_view name);

}  // namespace servetwin
