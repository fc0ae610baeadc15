// A plain tree of configuration text with positions: what a strict loader hands to the parameter readers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace servetwin {

// A scalar keeps its text as written, so that numbers are read by our own rules (no octal, no NaN, units
// required).
struct ConfigNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  // Defined in the source file: clang must not look into `entries` while this type is incomplete.
  ConfigNode();

  Kind kind = Kind::kNull;
  std::string text;                                         // kScalar
  bool quoted = false;                                      // kScalar: written in quotes, so it is a string
  std::vector<ConfigNode> items;                            // kList
  std::vector<std::pair<std::string, ConfigNode>> entries;  // kMap, in file order, keys unique
  SourcePlace place;
  std::string path;    // dotted path from the root, for messages
  std::string origin;  // "file", "command line" or "default": shown by `config show --resolved`

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_null() const { return kind == Kind::kNull; }
  // The entry of that name, or null. Only for maps.
  const ConfigNode* find(const std::string& key) const;
};

}  // namespace servetwin
