// Flattens parameter trees and hashes text; the same numbers give the same hash on every machine.
#include "costmodels/profile_text.h"

#include "engine/base/digest.h"

namespace servetwin {
namespace {

void append(const ConfigNode& node, const std::string& path, std::string& text) {
  for (const auto& [key, value] : node.entries) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_map()) {
      append(value, name, text);
      continue;
    }
    if (!text.empty()) text += ' ';
    text += name + '=' + (value.is_null() ? "none" : value.text);
    for (const ConfigNode& item : value.items) text += item.text + ';';
  }
}

}  // namespace

std::string profile_text(const ConfigNode& params) {
  std::string text;
  append(params, "", text);
  return text;
}

std::uint64_t profile_hash_of(std::string_view text) {
  Digest digest;
  digest.add(text.size());
  for (const char c : text) digest.add(static_cast<unsigned char>(c));
  return digest.value();
}

}  // namespace servetwin
