// Look-up in the configuration tree.
#include "engine/base/config_node.h"

namespace servetwin {

ConfigNode::ConfigNode() = default;

const ConfigNode* ConfigNode::find(const std::string& key) const {
  for (const auto& [name, node] : entries) {
    if (name == key) return &node;
  }
  return nullptr;
}

}  // namespace servetwin
