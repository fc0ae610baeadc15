// Writes a ConfigNode tree as YAML.
#include <algorithm>
#include <string>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr std::size_t kMostColumns = 110;
constexpr std::size_t kFewEntries = 4;

// Maps of some size stand one below the other, everything else in a list side by side.
bool stands_in_block(const ConfigNode& list) {
  return std::any_of(list.items.begin(), list.items.end(), [](const ConfigNode& item) {
    return item.is_map() && item.entries.size() > kFewEntries;
  });
}

// Breaks long lines between items, where YAML reads a line break as the blank that stood there.
std::string wrapped(const std::string& text) {
  std::string out;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    const std::size_t indent = line.find_first_not_of(" -");
    while (line.size() > kMostColumns) {
      const std::size_t at = line.rfind(", ", kMostColumns - 2);
      if (at == std::string::npos || at <= indent) break;
      out += line.substr(0, at + 1) + '\n';
      line = std::string(indent + 2, ' ') + line.substr(at + 2);
    }
    out += line + '\n';
    start = end + 1;
  }
  return out;
}

void emit(YAML::Emitter& out, const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      out << YAML::Null;
      return;
    case ConfigNode::Kind::kScalar:
      if (node.quoted) out << YAML::DoubleQuoted;
      out << node.text;
      return;
    case ConfigNode::Kind::kList:
      if (!stands_in_block(node)) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const ConfigNode& item : node.items) emit(out, item);
      out << YAML::EndSeq;
      return;
    case ConfigNode::Kind::kMap:
      if (node.entries.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& [name, value] : node.entries) {
        out << YAML::Key << name << YAML::Value;
        emit(out, value);
      }
      out << YAML::EndMap;
      return;
  }
}

}  // namespace

std::string write_yaml(const ConfigNode& node, const std::string& comment) {
  std::string text;
  for (std::size_t start = 0; start < comment.size();) {
    const std::size_t end = comment.find('\n', start);
    text += "# " + comment.substr(start, end - start) + '\n';
    if (end == std::string::npos) break;
    start = end + 1;
  }
  YAML::Emitter out;
  emit(out, node);
  return text + wrapped(std::string(out.c_str()) + '\n');
}

}  // namespace servetwin
