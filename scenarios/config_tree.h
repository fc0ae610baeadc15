// Operations on configuration trees: overlay, override, defaults, and the list of values with their origins.
#pragma once

#include <string>
#include <vector>

#include "engine/base/config_node.h"
#include "engine/base/params.h"

namespace servetwin {

inline constexpr const char* kOriginFile = "file";
inline constexpr const char* kOriginCommandLine = "command line";
inline constexpr const char* kOriginDefault = "default";
inline constexpr const char* kOriginModel = "model";
inline constexpr const char* kOriginPreset = "preset";

// Lays `over` upon `base`: maps merge key by key, everything else is replaced. A map that chooses its kind
// (`model`, `process` or `name`) differently from the one below replaces it whole, since its other keys mean
// something else.
void overlay(ConfigNode& base, const ConfigNode& over);

// Applies `a.b[0].c=VALUE`, VALUE being YAML: a path that is not there is made, so that a misspelt one is
// reported by the reader with the nearest name. `above` is written before the path. Throws ConfigError CFG018
// for what is no assignment.
void apply_override(ConfigNode& root, const std::string& assignment, const std::string& above = "");

// Lays a value that a file gives for `path`, written as above, upon what is there. Throws as apply_override,
// at the value's own place.
void lay_value(ConfigNode& root, const std::string& path, const ConfigNode& value);

// The node at a dotted path below `root`, or null.
const ConfigNode* find_path(const ConfigNode& root, const std::string& path);
// Where it stands, or the nearest map above it that some file or option gives.
SourcePlace nearest_place(const ConfigNode& root, std::string path);
// The node at the path, made as maps where it is missing.
ConfigNode& make_path(ConfigNode& root, const std::string& path);

// Adds every field that is missing or null, with its default, marked as such. Required fields stay missing.
void fill_defaults(ConfigNode& map, const std::vector<FieldInfo>& fields);

ConfigNode text_node(std::string text, bool quoted, std::string origin);

struct ResolvedValue {
  std::string path;
  std::string value;
  std::string origin;  // "file.yaml:12", "command line", "default", "preset", "model"
};

// Every scalar and empty container of the tree, in order.
std::vector<ResolvedValue> resolved_values(const ConfigNode& root);

}  // namespace servetwin
