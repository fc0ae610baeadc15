// Writes a ConfigNode tree as YAML.
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

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
      out << YAML::Flow << YAML::BeginSeq;
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
  return text + out.c_str() + '\n';
}

}  // namespace servetwin
