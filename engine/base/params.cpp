// What is said about parameters that are wrong, and the names of their types.
#include "engine/base/params.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/text.h"

namespace servetwin {
namespace {

struct TypeText {
  const char* name;
  const char* units;
  const char* expected;
};

// In the order of FieldType.
constexpr TypeText kTypeTexts[] = {
    {"bool", "", "true or false"},
    {"integer", "", "a whole number"},
    {"number", "", "a number"},
    {"text", "", "text"},
    {"duration", "ns, us, ms, s, min, h", "a duration, such as 200ms"},
    {"bytes", "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", "a size, such as 80GiB"},
    {"tokens", "", "a whole number of tokens"},
    {"blocks", "", "a whole number of blocks"},
    {"bandwidth", "B/s … TB/s, KiB/s … TiB/s, bps … Tbps", "a bandwidth, such as 900GB/s"},
    {"flop_rate", "FLOP/s … PFLOP/s", "a FLOP rate, such as 989TFLOP/s"},
    {"rate", "/s, req/s, requests/s", "a rate, such as 9/s"},
    {"choice", "", "one of the choices"},
    {"object", "", "a map of fields"},
    {"any", "", "a value"},
};
static_assert(std::size(kTypeTexts) == static_cast<std::size_t>(FieldType::kAny) + 1);

const TypeText& text_for(FieldType type) { return kTypeTexts[static_cast<std::size_t>(type)]; }

Problem problem_at(const ConfigNode& node, const char* code, std::string message, std::string remedy) {
  return {code, node.place, node.path, std::move(message), std::move(remedy)};
}

std::string found(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kScalar:
      return '"' + node.text + '"';
    case ConfigNode::Kind::kList:
      return "a list";
    case ConfigNode::Kind::kMap:
      return "a map";
  }
  return {};
}

std::string list_remedy(const std::string& word, const std::vector<std::string>& valid) {
  const std::string nearest = nearest_name(word, valid);
  const std::string all = valid.empty() ? "there are none" : "valid: " + join(valid, ", ");
  return nearest.empty() ? all : "did you mean " + nearest + "? " + all;
}

std::string range_text(const FieldInfo& info) {
  const std::string low = (info.above_minimum ? "above " : "at least ") + info.minimum;
  if (info.minimum.empty()) return "write at most " + info.maximum;
  if (info.maximum.empty()) return "write a value " + low;
  if (info.above_minimum) return "write a value " + low + " and at most " + info.maximum;
  return "write a value from " + info.minimum + " to " + info.maximum;
}

}  // namespace

const char* name_of(FieldType type) { return text_for(type).name; }

const char* units_of(FieldType type) { return text_for(type).units; }

Problem unknown_name_problem(const ConfigNode& node,
                             const std::string& name,
                             const std::vector<std::string>& valid_names) {
  return problem_at(node, kCodeUnknownName, "unknown name \"" + name + '"', list_remedy(name, valid_names));
}

namespace param_detail {

ConfigNode absent_child(const ConfigNode& parent, const std::string& name) {
  ConfigNode node;
  node.place = parent.place;
  node.path = parent.path.empty() ? name : parent.path + '.' + name;
  return node;
}

// Of a text or a part with its own reader, the type says nothing about what to write; the help does.
Problem missing_field(const ConfigNode& parent, const FieldInfo& info) {
  std::string remedy = "write " + std::string(info.list ? "a list" : text_for(info.type).expected);
  if (!info.choices.empty()) remedy += ": " + join(info.choices, ", ");
  const bool is_plain = info.type == FieldType::kText || info.type == FieldType::kAny;
  if (is_plain && !info.list && !info.help.empty()) {
    remedy = "add " + info.name + ": " + info.help.substr(0, info.help.find_last_not_of('.') + 1);
  }
  return problem_at(absent_child(parent, info.name), kCodeMissing, "must be given", remedy);
}

Problem wrong_type(const ConfigNode& node, const std::string& expected) {
  return problem_at(node, kCodeWrongType, "found " + found(node), "write " + expected);
}

Problem bad_value(const ConfigNode& node, const std::string& message, const std::string& remedy) {
  return problem_at(node, kCodeBadValue, message, remedy);
}

Problem bad_choice(const ConfigNode& node, const std::vector<std::string>& choices) {
  return problem_at(node, kCodeBadValue, '"' + node.text + "\" is not a choice",
                    list_remedy(node.text, choices));
}

Problem out_of_range(const ConfigNode& node, const FieldInfo& info) {
  return problem_at(node, kCodeOutOfRange, node.text + " is out of range", range_text(info));
}

Problem inconsistent(const ConfigNode& node, const std::string& message) {
  return problem_at(node, kCodeInconsistent, message, "");
}

void add_unknown_keys(const ConfigNode& node,
                      const std::vector<std::string>& known,
                      std::vector<Problem>& problems) {
  for (const auto& [name, child] : node.entries) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Problem problem =
        problem_at(child, kCodeUnknownKey, "unknown key \"" + name + '"', list_remedy(name, known));
    if (problem.path.empty()) problem.path = absent_child(node, name).path;
    problems.push_back(std::move(problem));
  }
}

bool check_scalar(const ConfigNode& node, FieldType type, std::vector<Problem>& problems) {
  const std::string expected = text_for(type).expected;
  if (!node.is_scalar()) {
    problems.push_back(wrong_type(node, expected));
    return false;
  }
  const bool is_plain = type == FieldType::kBool || type == FieldType::kInteger ||
                        type == FieldType::kNumber || type == FieldType::kTokens ||
                        type == FieldType::kBlocks;
  if (!is_plain || !node.quoted) return true;
  problems.push_back(problem_at(node, kCodeWrongType, "found the text " + found(node),
                                "write " + expected + ", without quotes"));
  return false;
}

ConfigNode scalar_node(std::string text, bool quoted) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = std::move(text);
  node.quoted = quoted;
  return node;
}

std::string text_of(const ConfigNode& node) {
  if (node.is_scalar()) return node.text;
  if (node.is_null()) return "null";
  if (node.is_map()) return {};
  std::vector<std::string> items;
  for (const ConfigNode& item : node.items) items.push_back(text_of(item));
  return '[' + join(items, ", ") + ']';
}

}  // namespace param_detail
}  // namespace servetwin
