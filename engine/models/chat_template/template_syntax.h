// A chat template as a tree: what its text says, before it is run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/models/chat_template/template_value.h"

namespace servetwin {

struct TemplateExpression;
using TemplateExpressionPtr = std::unique_ptr<TemplateExpression>;

struct TemplateArgument {
  std::string name;  // empty: by position
  TemplateExpressionPtr value;
};

struct TemplateExpression {
  enum class Kind {
    literal,      // value
    name,         // text
    list,         // parts
    dict,         // parts: key, value, key, value
    attribute,    // parts[0].text
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]], null where left out
    call,         // text(arguments)
    method,       // parts[0].text(arguments)
    filter,       // parts[0] | text(arguments)
    test,         // parts[0] is text arguments
    negate,       // -parts[0]
    logical_not,  // not parts[0]
    logical_and,
    logical_or,
    binary,       // parts[0] text parts[1]
    compare,      // parts[0] operators[0] parts[1] operators[1] parts[2] ...
    conditional,  // parts[0] if parts[1] else parts[2], which may be null
  };

  Kind kind = Kind::literal;
  int line = 0;
  int height = 1;  // of the tree below: it is walked by recursion
  std::string text{};
  TemplateValue value{};
  std::vector<TemplateExpressionPtr> parts{};
  std::vector<TemplateArgument> arguments{};
  std::vector<std::string> operators{};
};

struct TemplateStatement {
  enum class Kind {
    text,    // as it stands
    output,  // value
    set,     // targets[0] = value; with a second target: targets[0].targets[1] of a namespace
    branch,  // if value: body, else: otherwise
    loop,    // for targets in value if condition: body, else: otherwise
  };

  Kind kind = Kind::text;
  int line = 0;
  std::string text{};
  std::vector<std::string> targets{};
  TemplateExpressionPtr value{};
  TemplateExpressionPtr condition{};
  std::vector<TemplateStatement> body{};
  std::vector<TemplateStatement> otherwise{};
};

// Where a template can be wrong.
struct TemplatePlace {
  std::string file;
  int line = 0;
};

[[noreturn]] void refuse_template(const TemplatePlace& place, const std::string& what);  // not supported
[[noreturn]] void reject_template(const TemplatePlace& place, const std::string& what);  // wrong

// Throws ConfigError with the line for anything wrong, unsupported, too long or nested too deep.
std::vector<TemplateStatement> parse_template(const std::string& source, const std::string& file);

}  // namespace servetwin
