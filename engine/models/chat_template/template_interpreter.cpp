// A walk over the tree; what it may cost is counted at every step.
#include "engine/models/chat_template/template_interpreter.h"

#include <algorithm>
#include <array>

#include "engine/models/chat_template/template_parser.h"

namespace servetwin {
namespace {

using Kind = TemplateValue::Kind;

constexpr std::int64_t kMaxSteps = 2'000'000;
constexpr std::int64_t kMaxRange = 100'000;

// Python's own attributes of a dict hide its keys of the same name.
constexpr std::array<std::string_view, 11> kDictAttributes{
    "items", "keys", "values", "get", "pop", "copy", "update", "clear", "setdefault", "fromkeys", "popitem"};

}  // namespace

bool is_template_function(std::string_view name) {
  return name == "raise_exception" || name == "namespace" || name == "range" || name == "strftime_now";
}

std::string TemplateInterpreter::run(const std::vector<TemplateStatement>& statements) {
  run_all(statements);
  return std::move(out_);
}

void TemplateInterpreter::spend(int line) {
  if (++steps_ > kMaxSteps) reject_template(place(line), "the template takes too many steps");
  if (arena_.size() + out_.size() > kMaxTemplateMemory) {
    reject_template(place(line), "the template takes too much memory");
  }
}

void TemplateInterpreter::run_all(const std::vector<TemplateStatement>& statements) {
  for (const TemplateStatement& statement : statements) run_one(statement);
}

void TemplateInterpreter::run_one(const TemplateStatement& statement) {
  spend(statement.line);
  switch (statement.kind) {
    case TemplateStatement::Kind::text:
      out_ += statement.text;
      break;
    case TemplateStatement::Kind::output:
      out_ += str_of(*evaluate(*statement.value));
      break;
    case TemplateStatement::Kind::set:
      run_set(statement);
      break;
    case TemplateStatement::Kind::branch:
      run_all(is_true(*evaluate(*statement.value)) ? statement.body : statement.otherwise);
      break;
    case TemplateStatement::Kind::loop:
      run_loop(statement);
      break;
  }
}

void TemplateInterpreter::bind(const std::string& name, TemplateRef value) {
  for (auto& [known, held] : scopes_.back()) {
    if (known != name) continue;
    held = value;
    return;
  }
  scopes_.back().emplace_back(name, value);
}

void TemplateInterpreter::run_set(const TemplateStatement& statement) {
  const TemplateRef value = evaluate(*statement.value);
  if (statement.targets.size() == 1) {
    bind(statement.targets[0], value);
    return;
  }
  const TemplateRef target = look_up(statement.targets[0]);
  if (!target->is(Kind::name_space))
    reject_template(place(statement.line), "only a namespace's fields can be set");
  Scope& fields = name_spaces_[static_cast<std::size_t>(target->integer)];
  const auto known = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == statement.targets[1]; });
  if (known != fields.end()) {
    known->second = value;
  } else {
    fields.emplace_back(statement.targets[1], value);
  }
}

void TemplateInterpreter::bind_targets(const TemplateStatement& statement, TemplateRef element) {
  if (statement.targets.size() == 1) {
    bind(statement.targets[0], element);
    return;
  }
  const std::vector<TemplateRef> parts = elements_of(element, place(statement.line), arena_);
  if (parts.size() != statement.targets.size())
    reject_template(place(statement.line), "the element has another size");
  for (std::size_t i = 0; i < parts.size(); ++i) bind(statement.targets[i], parts[i]);
}

TemplateRef TemplateInterpreter::loop_state(const std::vector<TemplateRef>& elements, std::size_t at) {
  const std::int64_t index = static_cast<std::int64_t>(at);
  const std::int64_t size = static_cast<std::int64_t>(elements.size());
  TemplateValue state;
  state.kind = Kind::dict;
  state.fields = {{"index", arena_.integer(index + 1)},
                  {"index0", arena_.integer(index)},
                  {"revindex", arena_.integer(size - index)},
                  {"revindex0", arena_.integer(size - index - 1)},
                  {"first", arena_.boolean(index == 0)},
                  {"last", arena_.boolean(index + 1 == size)},
                  {"length", arena_.integer(size)},
                  {"previtem", at == 0 ? arena_.undefined("previtem") : elements[at - 1]},
                  {"nextitem", index + 1 == size ? arena_.undefined("nextitem") : elements[at + 1]}};
  return arena_.make(std::move(state));
}

// Each round has names of its own, as in Jinja: what is set in it is gone after it.
void TemplateInterpreter::run_loop(const TemplateStatement& statement) {
  std::vector<TemplateRef> elements = elements_of(evaluate(*statement.value), place(statement.line), arena_);
  if (statement.condition) {
    std::vector<TemplateRef> kept;
    for (const TemplateRef element : elements) {
      spend(statement.line);
      scopes_.emplace_back();
      bind_targets(statement, element);
      if (is_true(*evaluate(*statement.condition))) kept.push_back(element);
      scopes_.pop_back();
    }
    elements = std::move(kept);
  }
  for (std::size_t at = 0; at < elements.size(); ++at) {
    spend(statement.line);
    scopes_.emplace_back();
    bind_targets(statement, elements[at]);
    bind("loop", loop_state(elements, at));
    run_all(statement.body);
    scopes_.pop_back();
  }
  if (elements.empty()) run_all(statement.otherwise);
}

TemplateRef TemplateInterpreter::look_up(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    for (const auto& [known, value] : *scope) {
      if (known == name) return value;
    }
  }
  const TemplateRef given = find_field(*variables_, name);
  return given != nullptr ? given : arena_.undefined(name);
}

TemplateRef TemplateInterpreter::evaluate(const Expression& expression) {
  spend(expression.line);
  switch (expression.kind) {
    case Expression::Kind::logical_not:
    case Expression::Kind::logical_and:
    case Expression::Kind::logical_or:
    case Expression::Kind::conditional:
      return evaluate_logic(expression);
    case Expression::Kind::compare:
      return compare(expression);
    case Expression::Kind::call:
      return call(expression);
    case Expression::Kind::attribute:
      return attribute(expression);
    case Expression::Kind::method:
    case Expression::Kind::filter:
    case Expression::Kind::test: {
      const TemplateRef subject = evaluate(*expression.parts[0]);
      const TemplateArguments given = arguments(expression);
      const TemplatePlace where = place(expression.line);
      const TemplateCall call{expression.text, subject, given, where, arena_};
      if (expression.kind == Expression::Kind::test) return arena_.boolean(apply_test(call));
      return expression.kind == Expression::Kind::filter ? apply_filter(call) : apply_method(call);
    }
    default:
      return evaluate_value(expression);
  }
}

TemplateRef TemplateInterpreter::evaluate_value(const Expression& expression) {
  const TemplatePlace where = place(expression.line);
  const auto part = [&](std::size_t i) {
    return expression.parts[i] ? evaluate(*expression.parts[i]) : nullptr;
  };
  switch (expression.kind) {
    case Expression::Kind::literal:
      return &expression.value;
    case Expression::Kind::name:
      return look_up(expression.text);
    case Expression::Kind::item:
      return item_of(part(0), *part(1), where, arena_);
    case Expression::Kind::slice: {
      const TemplateRef value = part(0);
      return slice_of(value, {part(1), part(2), part(3)}, where, arena_);
    }
    case Expression::Kind::binary: {
      const TemplateRef left = part(0);
      return apply_binary(expression.text, left, part(1), where, arena_);
    }
    case Expression::Kind::negate:
      return apply_binary("-", arena_.integer(0), part(0), where, arena_);
    case Expression::Kind::list: {
      std::vector<TemplateRef> items;
      for (std::size_t i = 0; i < expression.parts.size(); ++i) items.push_back(part(i));
      return arena_.list(std::move(items));
    }
    default:
      break;
  }
  TemplateValue dict;
  dict.kind = Kind::dict;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    const TemplateRef key = part(i);
    if (!key->is(Kind::text)) refuse_template(where, "a key that is no text");
    if (find_field(dict, key->text) != nullptr) refuse_template(where, "a key that comes twice");
    dict.fields.emplace_back(key->text, part(i + 1));
  }
  return arena_.make(std::move(dict));
}

TemplateRef TemplateInterpreter::evaluate_logic(const Expression& expression) {
  if (expression.kind == Expression::Kind::logical_not) {
    return arena_.boolean(!is_true(*evaluate(*expression.parts[0])));
  }
  if (expression.kind == Expression::Kind::conditional) {
    if (is_true(*evaluate(*expression.parts[1]))) return evaluate(*expression.parts[0]);
    return expression.parts[2] ? evaluate(*expression.parts[2]) : arena_.undefined("the other value");
  }
  const TemplateRef left = evaluate(*expression.parts[0]);
  const bool stops = is_true(*left) == (expression.kind == Expression::Kind::logical_or);
  return stops ? left : evaluate(*expression.parts[1]);
}

TemplateRef TemplateInterpreter::attribute(const Expression& expression) {
  const TemplateRef value = evaluate(*expression.parts[0]);
  if (value->is(Kind::name_space)) {
    for (const auto& [name, field] : name_spaces_[static_cast<std::size_t>(value->integer)]) {
      if (name == expression.text) return field;
    }
    return arena_.undefined(expression.text);
  }
  const bool hidden = value->is(Kind::dict) && std::find(kDictAttributes.begin(), kDictAttributes.end(),
                                                         expression.text) != kDictAttributes.end();
  if (hidden) refuse_template(place(expression.line), "the method '" + expression.text + "' as a value");
  TemplateValue key;
  key.kind = Kind::text;
  key.text = expression.text;
  return item_of(value, key, place(expression.line), arena_);
}

TemplateRef TemplateInterpreter::compare(const Expression& expression) {
  TemplateRef left = evaluate(*expression.parts[0]);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    const TemplateRef right = evaluate(*expression.parts[i + 1]);
    if (!apply_compare(expression.operators[i], *left, *right, place(expression.line)))
      return arena_.boolean(false);
    left = right;
  }
  return arena_.boolean(true);
}

TemplateArguments TemplateInterpreter::arguments(const Expression& expression) {
  TemplateArguments out;
  for (const TemplateArgument& argument : expression.arguments) {
    const TemplateRef value = evaluate(*argument.value);
    if (argument.name.empty())
      out.positional.push_back(value);
    else
      out.named.emplace_back(argument.name, value);
  }
  return out;
}

TemplateRef TemplateInterpreter::call(const Expression& expression) {
  const TemplateArguments given = arguments(expression);
  const TemplatePlace where = place(expression.line);
  if (expression.text == "namespace") return name_space(given);
  if (expression.text == "range") return range(given, where);
  if (expression.text == "strftime_now") refuse_template(where, "today's date (strftime_now)");
  const TemplateRef message = given.find(0, "message");
  reject_template(where, "the template refuses this: " + (message == nullptr ? "" : str_of(*message)));
}

TemplateRef TemplateInterpreter::name_space(const TemplateArguments& given) {
  TemplateValue value;
  value.kind = Kind::name_space;
  value.integer = static_cast<std::int64_t>(name_spaces_.size());
  name_spaces_.push_back(given.named);
  return arena_.make(std::move(value));
}

TemplateRef TemplateInterpreter::range(const TemplateArguments& given, const TemplatePlace& where) {
  const std::vector<TemplateRef>& ends = given.positional;
  const bool integers =
      !ends.empty() && ends.size() <= 2 &&
      std::all_of(ends.begin(), ends.end(), [](TemplateRef end) { return end->is(Kind::integer); });
  if (!integers) refuse_template(where, "this form of 'range'");
  const std::int64_t begin = ends.size() == 1 ? 0 : ends[0]->integer;
  const std::int64_t end = ends.back()->integer;
  const bool small = end <= begin || (begin >= -kMaxRange && end <= kMaxRange);
  if (!small) reject_template(where, "the range is too large");
  std::vector<TemplateRef> items;
  for (std::int64_t i = begin; i < end; ++i) items.push_back(arena_.integer(i));
  return arena_.list(std::move(items));
}

}  // namespace servetwin
