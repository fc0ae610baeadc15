// The template that turns a conversation into a model's prompt: a subset of Jinja, refused where it ends.
#pragma once

#include <string>
#include <vector>

#include "engine/models/chat_template/template_syntax.h"

namespace servetwin {

class ChatTemplate {
 public:
  // Throws ConfigError naming `file` and the line of what is wrong or not supported.
  ChatTemplate(const std::string& source, std::string file);

  // The prompt. `variables` is a JSON object: messages, tools, add_generation_prompt, bos_token, eos_token
  // and whatever else the template reads. Throws ConfigError where the template refuses the conversation
  // (raise_exception), does with a value what cannot be done, or works more than it may.
  std::string render(const std::string& variables) const;

 private:
  std::string file_;
  std::vector<TemplateStatement> statements_;
};

}  // namespace servetwin
