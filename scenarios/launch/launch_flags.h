// What the mappings of launch commands share: flags as rows of a table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/launch/launch_command.h"

namespace servetwin {

enum class FlagValue { kNone, kOne, kMany };

struct LaunchFlag {
  // Spaces between its spellings, for example "--tensor-parallel-size -tp".
  const char* names;
  FlagValue value;
  // A key, such as engine.x: sets it, to a list of its values joined by commas. "": changes nothing here.
  // Anything else: what it changes that is not modelled.
  const char* effect;
  // A value as YAML; nothing: the default is meant. Null where the effect is no key.
  std::optional<std::string> (*convert)(const std::string& value);
};

struct ReadFlags {
  LaunchReading reading;
  std::vector<std::string> positional;
};

// Flags may be written --name=value, and with underscores. A word after an unknown flag counts as its value.
// Of a flag given twice the last counts.
ReadFlags read_flags(const std::vector<LaunchFlag>& table, const std::vector<std::string>& words);

// Replaces or adds; `keep`: not if it is there.
void set(LaunchReading& reading, const LaunchSetting& setting, bool keep = false);
// Null when it is not set.
const LaunchSetting* find(const LaunchReading& reading, const std::string& path);
// Removes it and says what it was.
std::optional<LaunchSetting> take(LaunchReading& reading, const std::string& path);

// A count: 4096, 32k (of 1000), 32K (of 1024); -1 and auto are the default.
std::optional<std::string> count_value(const std::string& value);
std::optional<std::string> text_value(const std::string& value);
// One above 0, at most 1.
std::optional<std::string> share_value(const std::string& value);
// A number format by its usual name, auto being the default.
std::optional<std::string> dtype_value(const std::string& value);
std::optional<std::string> yes_value(const std::string& value);
std::optional<std::string> no_value(const std::string& value);

}  // namespace servetwin
