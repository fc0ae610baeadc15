// Statements: text, output, set, if, for. Every other tag is refused by name.
#include "engine/models/chat_template/template_parser.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

using TokenKind = TemplateToken::Kind;
using StatementKind = TemplateStatement::Kind;

constexpr int kMaxBlockDepth = 50;
constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20U;

class Parser {
 public:
  explicit Parser(TemplateTokens tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  std::vector<TemplateStatement> run() {
    std::vector<TemplateStatement> statements = parse_until({});
    if (!tokens_.is(TokenKind::end)) reject_template(tokens_.place(), "'" + tag_ + "' ends nothing");
    return statements;
  }

 private:
  // Statements up to a tag that is one of `ends`, whose name is then in tag_ and whose rest is unread.
  std::vector<TemplateStatement> parse_until(const std::vector<std::string>& ends) {
    if (++depth_ > kMaxBlockDepth) reject_template(tokens_.place(), "blocks are nested too deep");
    std::vector<TemplateStatement> out;
    for (;;) {
      const TemplateToken token = tokens_.take();
      if (token.kind == TokenKind::end) {
        if (!ends.empty()) reject_template(tokens_.place(), "'" + ends.back() + "' is missing at the end");
        break;
      }
      if (token.kind == TokenKind::text) {
        out.push_back(made(StatementKind::text, token.line));
        out.back().text = token.text;
      } else if (token.kind == TokenKind::output_begin) {
        out.push_back(made(StatementKind::output, token.line));
        out.back().value = expressions_.parse();
        tokens_.expect(TokenKind::output_end, "'}}'");
      } else {
        tag_ = tokens_.expect_name();
        if (std::find(ends.begin(), ends.end(), tag_) != ends.end()) break;
        out.push_back(parse_tag(token.line));
      }
    }
    --depth_;
    return out;
  }

  static TemplateStatement made(StatementKind kind, int line) {
    TemplateStatement statement;
    statement.kind = kind;
    statement.line = line;
    return statement;
  }

  void end_tag() { tokens_.expect(TokenKind::block_end, "'%}'"); }

  TemplateStatement parse_tag(int line) {
    if (tag_ == "if") return parse_if(line);
    if (tag_ == "for") return parse_for(line);
    if (tag_ == "set") return parse_set(line);
    if (tag_ == "else" || tag_ == "elif" || tag_ == "endif" || tag_ == "endfor") {
      reject_template(tokens_.place(), "'" + tag_ + "' ends nothing");
    }
    refuse_template(tokens_.place(), "the tag '" + tag_ + "'");
  }

  TemplateStatement parse_if(int line) {
    TemplateStatement out = made(StatementKind::branch, line);
    out.value = expressions_.parse();
    end_tag();
    out.body = parse_until({"elif", "else", "endif"});
    if (tag_ == "elif") {
      if (++depth_ > kMaxBlockDepth * 4) reject_template(tokens_.place(), "too many branches");
      out.otherwise.push_back(parse_if(tokens_.peek().line));
      --depth_;
      return out;
    }
    const bool has_else = tag_ == "else";
    end_tag();
    if (has_else) {
      out.otherwise = parse_until({"endif"});
      end_tag();
    }
    return out;
  }

  TemplateStatement parse_for(int line) {
    TemplateStatement out = made(StatementKind::loop, line);
    do {
      out.targets.push_back(tokens_.expect_name());
    } while (tokens_.take_sign(","));
    if (!tokens_.take_word("in")) reject_template(tokens_.place(), "'in' is missing");
    out.value = expressions_.parse(false);
    if (tokens_.take_word("if")) out.condition = expressions_.parse();
    if (tokens_.is_word("recursive")) refuse_template(tokens_.place(), "'recursive'");
    end_tag();
    out.body = parse_until({"else", "endfor"});
    const bool has_else = tag_ == "else";
    end_tag();
    if (has_else) {
      out.otherwise = parse_until({"endfor"});
      end_tag();
    }
    return out;
  }

  TemplateStatement parse_set(int line) {
    TemplateStatement out = made(StatementKind::set, line);
    out.targets.push_back(tokens_.expect_name());
    if (tokens_.take_sign(".")) out.targets.push_back(tokens_.expect_name());
    if (tokens_.is_sign(",")) refuse_template(tokens_.place(), "'set' of several names");
    if (!tokens_.is_sign("=")) refuse_template(tokens_.place(), "'set' of a block");
    tokens_.take();
    out.value = expressions_.parse();
    if (tokens_.is_sign(",")) refuse_template(tokens_.place(), "a tuple without parentheses");
    end_tag();
    return out;
  }

  TemplateTokens tokens_;
  TemplateExpressionParser expressions_;
  std::string tag_;
  int depth_ = 0;
};

}  // namespace

void refuse_template(const TemplatePlace& place, const std::string& what) {
  throw ConfigError(Problem{kCodeUnknownName, SourcePlace{place.file, place.line, 0}, "",
                            what + " is not supported in chat templates",
                            "docs/tokenizers.md lists what is"});
}

void reject_template(const TemplatePlace& place, const std::string& what) {
  throw ConfigError(Problem{kCodeBadValue, SourcePlace{place.file, place.line, 0}, "", what, ""});
}

std::vector<TemplateStatement> parse_template(const std::string& source, const std::string& file) {
  if (source.size() > kMaxTemplateBytes) reject_template({file, 0}, "the template is larger than 1 MiB");
  return Parser(TemplateTokens(lex_template(source, file), file)).run();
}

}  // namespace servetwin
