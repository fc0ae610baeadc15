// Reads `{discriminator: NAME, parameter: …}`, or NAME alone, and makes the plug-in of that name.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/base/registry.h"

namespace servetwin {

// The name under `key` and the node without that entry. Throws ConfigError where the name is missing.
std::pair<std::string, ConfigNode> split_choice(const ConfigNode& node,
                                                const std::string& key,
                                                const std::string& example);

template <class Interface>
std::unique_ptr<Interface> make_choice(
    const ConfigNode& node,
    const std::string& key,
    const std::string& example,
    const typename Registry<Interface>::Context& context = typename Registry<Interface>::Context{}) {
  const auto [name, params] = split_choice(node, key, example);
  return Registry<Interface>::instance().make(name, params, context);
}

}  // namespace servetwin
