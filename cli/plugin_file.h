// Plug-ins out of tree: shared objects whose rules, routers, cost models or verbs register themselves.
#pragma once

#include <string>

namespace servetwin {

// Its plug-ins are in the registries afterwards, until the process ends. Throws ConfigError for a file that
// is no plug-in (PLG001), was compiled against other headers (PLG002) or does not load (PLG003).
void load_plugin(const std::string& file);

// Empty when none is. What breaks an invariant meanwhile is what the plug-in registers, such as a name that
// is taken; nothing can be thrown then, for the system's loader is on the stack.
const std::string& plugin_being_loaded();

}  // namespace servetwin
