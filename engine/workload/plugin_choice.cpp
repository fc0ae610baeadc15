// Takes the name of a plug-in out of its node.
#include "engine/workload/plugin_choice.h"

namespace servetwin {

std::pair<std::string, ConfigNode> split_choice(const ConfigNode& node,
                                                const std::string& key,
                                                const std::string& example) {
  if (node.is_scalar()) {
    ConfigNode none;
    none.place = node.place;
    none.path = node.path;
    return {node.text, none};
  }
  const ConfigNode* name = node.is_map() ? node.find(key) : nullptr;
  if (name == nullptr || !name->is_scalar()) {
    throw ConfigError(Problem{kCodeMissing, node.place, node.path, "no " + key + " is named",
                              "write for example " + example});
  }
  std::pair<std::string, ConfigNode> result{name->text, node};
  std::erase_if(result.second.entries, [&](const auto& entry) { return entry.first == key; });
  return result;
}

}  // namespace servetwin
