// Runs a template's tree over variables, within limits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/models/chat_template/template_operations.h"

namespace servetwin {

class TemplateInterpreter {
 public:
  TemplateInterpreter(const std::string& file, TemplateRef variables, TemplateArena& arena)
      : file_(file), variables_(variables), arena_(arena), scopes_(1) {}

  std::string run(const std::vector<TemplateStatement>& statements);

 private:
  using Scope = std::vector<std::pair<std::string, TemplateRef>>;
  using Expression = TemplateExpression;

  void run_all(const std::vector<TemplateStatement>& statements);
  void run_one(const TemplateStatement& statement);
  void run_set(const TemplateStatement& statement);
  void run_loop(const TemplateStatement& statement);
  void bind_targets(const TemplateStatement& statement, TemplateRef element);
  TemplateRef loop_state(const std::vector<TemplateRef>& elements, std::size_t at);
  void bind(const std::string& name, TemplateRef value);

  TemplateRef evaluate(const Expression& expression);
  TemplateRef evaluate_value(const Expression& expression);
  TemplateRef evaluate_logic(const Expression& expression);
  TemplateRef look_up(const std::string& name);
  TemplateRef attribute(const Expression& expression);
  TemplateRef call(const Expression& expression);
  TemplateRef compare(const Expression& expression);
  TemplateArguments arguments(const Expression& expression);
  TemplateRef range(const TemplateArguments& given, const TemplatePlace& place);
  TemplateRef name_space(const TemplateArguments& given);
  void spend(int line);
  TemplatePlace place(int line) const { return {file_, line}; }

  const std::string& file_;
  TemplateRef variables_;
  TemplateArena& arena_;
  std::vector<Scope> scopes_;
  std::vector<Scope> name_spaces_;  // what templates may change
  std::string out_;
  std::int64_t steps_ = 0;
};

}  // namespace servetwin
