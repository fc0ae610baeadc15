// The visitor behind params.h that reads parameters and collects what is wrong. Included by params.h only.
#pragma once

#include <utility>

#include "engine/base/param_writer.h"

namespace servetwin::param_detail {

template <class Params>
void read_object(const ConfigNode& node, Params& params, std::vector<Problem>& problems);

template <class Leaf>
void read_scalar(const ConfigNode& node,
                 Leaf& value,
                 const Rules<Leaf>& rules,
                 std::vector<Problem>& problems) {
  if (!check_scalar(node, type_of<Leaf>(), problems)) return;
  if constexpr (std::is_enum_v<Leaf>) {
    std::vector<std::string> names;
    for (const auto& choice : rules.choices) {
      names.emplace_back(choice.name);
      if (names.back() != node.text) continue;
      value = choice.value;
      return;
    }
    problems.push_back(bad_choice(node, names));
  } else {
    const Parsed<Leaf> parsed = Scalar<Leaf>::parse(node.text, rules.bits);
    if (!parsed) {
      problems.push_back(bad_value(node, parsed.message, parsed.remedy));
    } else if (!rules.allows(*parsed.value)) {
      problems.push_back(out_of_range(node, field_info("", *parsed.value, "", rules)));
    } else {
      value = *parsed.value;
    }
  }
}

template <class T>
void read_value(const ConfigNode& node,
                T& value,
                const Rules<LeafOf<T>>& rules,
                std::vector<Problem>& problems) {
  if constexpr (Shape<T>::kIsOptional) {
    if (node.is_null()) return value.reset();
    if (!value.has_value()) value.emplace();
    read_value(node, *value, rules, problems);
  } else if constexpr (HasFields<T>) {
    read_object(node, value, problems);
  } else if constexpr (std::is_same_v<T, ConfigNode>) {
    value = node;
  } else if (node.is_null()) {
    return;
  } else if constexpr (Shape<T>::kIsList) {
    if (!node.is_list()) return problems.push_back(wrong_type(node, "a list"));
    value.clear();
    for (const ConfigNode& item : node.items) {
      LeafOf<T> element{};
      if (item.is_null()) problems.push_back(wrong_type(item, "a value"));
      read_value(item, element, rules, problems);
      value.push_back(std::move(element));
    }
  } else {
    read_scalar(node, value, rules, problems);
  }
}

struct FieldReader {
  const ConfigNode& node;
  std::vector<Problem>& problems;
  std::vector<std::string> known;

  template <class T, class... Given>
  void operator()(const char* name, T& value, const char* help, const Given&... given) {
    known.emplace_back(name);
    const auto rules = rules_of<LeafOf<T>>(given...);
    const ConfigNode* child = node.find(name);
    if (rules.required && (child == nullptr || child->is_null())) {
      problems.push_back(missing_field(node, field_info(name, value, help, rules)));
    } else if (child != nullptr) {
      read_value(*child, value, rules, problems);
    } else if constexpr (HasFields<T>) {
      read_value(absent_child(node, name), value, rules, problems);
    }
  }
};

template <class Params>
void read_object(const ConfigNode& node, Params& params, std::vector<Problem>& problems) {
  if (!node.is_map() && !node.is_null()) return problems.push_back(wrong_type(node, "a map of fields"));
  const std::size_t before = problems.size();
  FieldReader reader{node, problems, {}};
  params.fields(reader);
  add_unknown_keys(node, reader.known, problems);
  if constexpr (requires { params.problem(); }) {
    const std::string message = problems.size() == before ? params.problem() : std::string();
    if (!message.empty()) problems.push_back(inconsistent(node, message));
  }
}

}  // namespace servetwin::param_detail

namespace servetwin {

template <class Params>
Params read_params(const ConfigNode& node, std::vector<Problem>& problems) {
  Params params{};
  param_detail::read_object(node, params, problems);
  return params;
}

template <class Params>
Params read_params(const ConfigNode& node) {
  std::vector<Problem> problems;
  Params params = read_params<Params>(node, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return params;
}

}  // namespace servetwin
