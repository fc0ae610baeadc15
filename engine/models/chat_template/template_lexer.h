// A chat template's text cut into tokens, white space control applied.
#pragma once

#include <string>
#include <vector>

#include "engine/models/chat_template/template_syntax.h"

namespace servetwin {

struct TemplateToken {
  enum class Kind {
    text,
    output_begin,
    output_end,
    block_begin,
    block_end,
    name,
    integer,
    number,
    string,
    sign,
    end
  };

  Kind kind = Kind::end;
  int line = 1;
  std::string text{};  // of a string: its value
};

// As Jinja does with trim_blocks and lstrip_blocks, which Hugging Face sets.
std::vector<TemplateToken> lex_template(const std::string& source, const std::string& file);

}  // namespace servetwin
