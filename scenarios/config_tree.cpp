// Merges configuration trees and keeps paths, places and origins right while doing so.
#include "scenarios/config_tree.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/unit_text.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr std::array<const char*, 3> kSelectors = {"model", "process", "name"};

// One step of a path: the key of a map, or the index of a list.
struct PathStep {
  std::string key;
  std::int64_t index = -1;
};

constexpr const char* kForm = "write --set key.path=value, for example --set engine.max_num_seqs=64";

std::string option_text(const std::string& assignment) {
  return "--set " + (assignment.empty() ? "''" : assignment);
}

[[noreturn]] void refuse_assignment(const std::string& assignment,
                                    const std::string& why,
                                    const std::string& remedy = kForm) {
  throw ConfigError(Problem{"CFG018", SourcePlace{option_text(assignment), 0, 0}, "", why, remedy});
}

std::vector<PathStep> split_path(const std::string& path, const std::string& whole) {
  std::vector<PathStep> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      const std::size_t end = path.find(']', at);
      if (end == std::string::npos || steps.empty())
        refuse_assignment(whole, "a list index without its list or its ]",
                          "an item of a list is written name[0]");
      const auto index = parse_integer(path.substr(at + 1, end - at - 1));
      if (!index || *index.value < 0)
        refuse_assignment(whole, "a list index that is no number from 0",
                          "an item of a list is written name[0]");
      steps.push_back({"", *index.value});
      at = end + 1;
      if (at < path.size() && path[at] == '.') ++at;
      continue;
    }
    const std::size_t end = path.find_first_of(".[", at);
    steps.push_back({path.substr(at, end - at), -1});
    if (steps.back().key.empty()) refuse_assignment(whole, "the key has an empty part: a dot too many");
    if (parse_integer(steps.back().key))
      refuse_assignment(whole, "a key that is a number", "an item of a list is written name[0]");
    at = end == std::string::npos ? path.size() : end + (path[end] == '.' ? 1U : 0U);
  }
  if (steps.empty() || path.back() == '.')
    refuse_assignment(whole, "the key has an empty part: a dot too many");
  return steps;
}

ConfigNode* find_entry(ConfigNode& map, const std::string& key) {
  for (auto& [name, node] : map.entries) {
    if (name == key) return &node;
  }
  return nullptr;
}

std::string child_path(const ConfigNode& parent, const std::string& key) {
  return parent.path.empty() ? key : parent.path + '.' + key;
}

void set_paths(ConfigNode& node, std::string path) {
  node.path = std::move(path);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    set_paths(node.items[i], node.path + '[' + std::to_string(i) + ']');
  }
  for (auto& [name, child] : node.entries) set_paths(child, child_path(node, name));
}

void mark(ConfigNode& node, const SourcePlace& place, const std::string& origin) {
  node.place = place;
  node.origin = origin;
  for (ConfigNode& item : node.items) mark(item, place, origin);
  for (auto& [name, child] : node.entries) mark(child, place, origin);
}

// The entry of that key, made if need be; a null or scalar in the way becomes a map.
ConfigNode& entry_of(ConfigNode& node, const std::string& key) {
  if (!node.is_map()) {
    node.kind = ConfigNode::Kind::kMap;
    node.text.clear();
    node.items.clear();
  }
  if (ConfigNode* found = find_entry(node, key)) return *found;
  ConfigNode child;
  child.path = child_path(node, key);
  child.place = node.place;
  child.origin = node.origin;
  node.entries.emplace_back(key, std::move(child));
  return node.entries.back().second;
}

ConfigNode& item_of(ConfigNode& node, std::int64_t index, const std::string& assignment) {
  const auto count = static_cast<std::int64_t>(node.items.size());
  if (!node.is_list()) refuse_assignment(assignment, node.path + " is no list", "leave out the index");
  if (index >= count) {
    refuse_assignment(assignment, node.path + " has " + std::to_string(count) + " items, numbered from 0",
                      "write the index of one of them, or the whole list");
  }
  return node.items[static_cast<std::size_t>(index)];
}

bool chooses_differently(const ConfigNode& base, const ConfigNode& over) {
  if (over.path.rfind("spec.", 0) != 0) return false;
  for (const char* selector : kSelectors) {
    const ConfigNode* below = base.find(selector);
    const ConfigNode* above = over.find(selector);
    if (below != nullptr && above != nullptr && below->text != above->text) return true;
  }
  return false;
}

std::string origin_text(const ConfigNode& node) {
  if (node.origin == kOriginFile && node.place.line > 0) {
    return node.place.file + ':' + std::to_string(node.place.line);
  }
  return node.origin;
}

void list_values(const ConfigNode& node, std::vector<ResolvedValue>& values) {
  if (node.is_map() && !node.entries.empty()) {
    for (const auto& [name, child] : node.entries) list_values(child, values);
    return;
  }
  if (node.is_list() && !node.items.empty()) {
    for (const ConfigNode& item : node.items) list_values(item, values);
    return;
  }
  std::string text = write_yaml(node);
  text.pop_back();
  values.push_back({node.path, std::move(text), origin_text(node)});
}

ConfigNode default_node(const FieldInfo& field) {
  if (field.list || (field.type == FieldType::kAny && !field.default_text.empty())) {
    return load_yaml_text(field.default_text, kOriginDefault);
  }
  if (field.nullable && field.default_text == "null") return ConfigNode{};
  return text_node(field.default_text, field.type == FieldType::kText, kOriginDefault);
}

}  // namespace

ConfigNode text_node(std::string text, bool quoted, std::string origin) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = std::move(text);
  node.quoted = quoted;
  node.origin = std::move(origin);
  return node;
}

void overlay(ConfigNode& base, const ConfigNode& over) {
  if (!base.is_map() || !over.is_map() || chooses_differently(base, over)) {
    base = over;
    return;
  }
  for (const auto& [name, node] : over.entries) {
    if (ConfigNode* below = find_entry(base, name)) {
      overlay(*below, node);
    } else {
      base.entries.emplace_back(name, node);
    }
  }
}

void apply_override(ConfigNode& root, const std::string& assignment, const std::string& above) {
  constexpr const char* kBlank = " \t\n\r";
  const std::size_t equals = assignment.find('=');
  if (assignment.find_first_not_of(kBlank) == std::string::npos) refuse_assignment(assignment, "is empty");
  if (equals == std::string::npos) refuse_assignment(assignment, "has no value");
  if (equals == 0) refuse_assignment(assignment, "has no key before the =");
  const std::string value = assignment.substr(equals + 1);
  if (value.find_first_not_of(kBlank) == std::string::npos) {
    const std::string key = assignment.substr(0, equals);
    refuse_assignment(assignment, "has no value after the =",
                      "write one, or " + key + "=null for the default, as if the key were not there");
  }
  const SourcePlace place{option_text(assignment), 0, 0};
  ConfigNode node = load_yaml_text(value, place.file);
  ConfigNode* target = &root;
  for (const PathStep& step : split_path(above + assignment.substr(0, equals), assignment)) {
    target = step.index < 0 ? &entry_of(*target, step.key) : &item_of(*target, step.index, assignment);
  }
  const std::string path = target->path;
  *target = std::move(node);
  mark(*target, place, kOriginCommandLine);
  set_paths(*target, path);
}

void lay_value(ConfigNode& root, const std::string& path, const ConfigNode& value) {
  ConfigNode* target = &root;
  try {
    for (const PathStep& step : split_path(path, path)) {
      target = step.index < 0 ? &entry_of(*target, step.key) : &item_of(*target, step.index, path);
    }
  } catch (const ConfigError& error) {
    Problem problem = error.problems().front();
    problem.place = value.place;
    problem.path = value.path;
    if (problem.remedy == kForm) problem.remedy = "write a key path, for example engine.max_num_seqs";
    throw ConfigError(std::move(problem));
  }
  const std::string at = target->path;
  overlay(*target, value);
  set_paths(*target, at);
}

const ConfigNode* find_path(const ConfigNode& root, const std::string& path) {
  const ConfigNode* node = &root;
  for (std::size_t start = 0; node != nullptr && start <= path.size();) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    node = node->is_map() ? node->find(path.substr(start, end - start)) : nullptr;
    start = end + 1;
  }
  return node;
}

SourcePlace nearest_place(const ConfigNode& root, std::string path) {
  for (;;) {
    const ConfigNode* node = find_path(root, path);
    if (node != nullptr && !node->place.file.empty()) return node->place;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return root.place;
    path.resize(dot);
  }
}

ConfigNode& make_path(ConfigNode& root, const std::string& path) {
  ConfigNode* node = &root;
  for (const PathStep& step : split_path(path, path)) node = &entry_of(*node, step.key);
  return *node;
}

void fill_defaults(ConfigNode& map, const std::vector<FieldInfo>& fields) {
  if (!map.is_map() && !map.is_null()) return;
  map.kind = ConfigNode::Kind::kMap;
  if (map.origin.empty()) map.origin = kOriginDefault;
  for (const FieldInfo& field : fields) {
    ConfigNode* found = find_entry(map, field.name);
    const bool is_object = field.type == FieldType::kObject && !field.list && !field.nullable;
    if (is_object || (found != nullptr && found->is_map() && !field.fields.empty())) {
      fill_defaults(entry_of(map, field.name), field.fields);
    } else if ((found == nullptr || found->is_null()) && !field.required) {
      ConfigNode& child = entry_of(map, field.name);
      const std::string path = child.path;
      child = default_node(field);
      mark(child, SourcePlace{}, kOriginDefault);
      set_paths(child, path);
    }
  }
}

std::vector<ResolvedValue> resolved_values(const ConfigNode& root) {
  std::vector<ResolvedValue> values;
  list_values(root, values);
  return values;
}

}  // namespace servetwin
