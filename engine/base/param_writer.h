// The visitors behind params.h that write and describe parameters. Included by params.h only.
#pragma once

#include <utility>

#include "engine/base/param_rules.h"

namespace servetwin::param_detail {

template <class T>
ConfigNode node_of(const T& value, const Rules<LeafOf<T>>& rules) {
  if constexpr (Shape<T>::kIsOptional) {
    return value.has_value() ? node_of(*value, rules) : ConfigNode{};
  } else if constexpr (Shape<T>::kIsList) {
    ConfigNode node;
    node.kind = ConfigNode::Kind::kList;
    for (const auto& item : value) node.items.push_back(node_of<LeafOf<T>>(item, rules));
    return node;
  } else if constexpr (HasFields<T>) {
    return write_params(value);
  } else if constexpr (std::is_same_v<T, ConfigNode>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& choice : rules.choices) {
      if (choice.value == value) return scalar_node(choice.name, false);
    }
    return ConfigNode{};
  } else {
    return scalar_node(Scalar<T>::print(value), std::is_same_v<T, std::string>);
  }
}

template <class T>
FieldInfo field_info(const char* name, const T& value, const char* help, const Rules<LeafOf<T>>& rules) {
  using Leaf = LeafOf<T>;
  FieldInfo info;
  info.name = name;
  info.help = help;
  info.type = type_of<Leaf>();
  info.list = Shape<T>::kIsList;
  info.required = rules.required;
  info.nullable = Shape<T>::kIsOptional;
  info.above_minimum = rules.above_minimum;
  if (!rules.required) info.default_text = text_of(node_of(value, rules));
  for (const auto& choice : rules.choices) info.choices.emplace_back(choice.name);
  if constexpr (HasFields<Leaf>) {
    info.fields = describe_params<Leaf>();
  } else if constexpr (!std::is_enum_v<Leaf> && !std::is_same_v<Leaf, ConfigNode>) {
    if (rules.low) info.minimum = Scalar<Leaf>::print(*rules.low);
    if (rules.high) info.maximum = Scalar<Leaf>::print(*rules.high);
  }
  return info;
}

struct FieldWriter {
  ConfigNode node;

  template <class T, class... Given>
  void operator()(const char* name, const T& value, const char*, const Given&... given) {
    node.entries.emplace_back(name, node_of(value, rules_of<LeafOf<T>>(given...)));
  }
};

struct FieldDescriber {
  std::vector<FieldInfo> fields;

  template <class T, class... Given>
  void operator()(const char* name, const T& value, const char* help, const Given&... given) {
    fields.push_back(field_info(name, value, help, rules_of<LeafOf<T>>(given...)));
  }
};

}  // namespace servetwin::param_detail

namespace servetwin {

template <class Params>
std::vector<FieldInfo> describe_params() {
  Params params{};
  param_detail::FieldDescriber describer;
  params.fields(describer);
  return std::move(describer.fields);
}

template <class Params>
ConfigNode write_params(const Params& params) {
  Params copy = params;
  param_detail::FieldWriter writer;
  writer.node.kind = ConfigNode::Kind::kMap;
  copy.fields(writer);
  return std::move(writer.node);
}

}  // namespace servetwin
