// Compiled into every plug-in: the text that servetwin looks for before it loads the file.
#include "generated/servetwin_abi.h"

extern "C" {
[[gnu::used, gnu::visibility("default")]] extern const char servetwin_plugin_abi[];
const char servetwin_plugin_abi[] = SERVETWIN_PLUGIN_ABI;
}
