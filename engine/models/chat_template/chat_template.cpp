// Parse once, run often.
#include "engine/models/chat_template/chat_template.h"

#include <utility>

#include "engine/models/chat_template/template_interpreter.h"

namespace servetwin {

ChatTemplate::ChatTemplate(const std::string& source, std::string file)
    : file_(std::move(file)), statements_(parse_template(source, file_)) {}

std::string ChatTemplate::render(const std::string& variables) const {
  TemplateArena arena;
  const TemplateRef given = parse_template_json(variables, "variables", arena);
  return TemplateInterpreter(file_, given, arena).run(statements_);
}

}  // namespace servetwin
