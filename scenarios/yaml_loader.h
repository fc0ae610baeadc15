// Strict reading of one YAML document into a ConfigNode tree, from the parser's events: nothing is dropped
// silently.
#pragma once

#include <string>

#include "engine/base/config_node.h"

namespace servetwin {

inline constexpr int kMaxYamlDepth = 64;
inline constexpr int kMaxYamlNodes = 200'000;

// Refused, each with its own code and place: duplicate keys, a second document, anchors and aliases, merge
// keys, tags, keys that are no plain text, nesting beyond 64, more than 200,000 values, and what input_text.h
// refuses. Scalars keep their text. Paths are dotted, list items as name[0]. Throws ConfigError with all that
// was found.
ConfigNode load_yaml_file(const std::string& path);  // "-": standard input
ConfigNode load_yaml_text(const std::string& text, const std::string& file);

// The tree as YAML text that reads back as the same tree. `comment` lines go on top, each after "# ".
std::string write_yaml(const ConfigNode& node, const std::string& comment = "");

}  // namespace servetwin
