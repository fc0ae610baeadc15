// A serving engine's launch command read as a scenario: which of its flags say what, and which say nothing.
#pragma once

#include <string>
#include <vector>

#include "costmodels/device_spec.h"

namespace servetwin {

// One value of the scenario and what it comes from.
struct LaunchSetting {
  std::string path;    // below spec, for example engine.max_num_seqs
  std::string value;   // as YAML
  std::string origin;  // the flag as given, or whose default it is
};

struct LaunchReading {
  std::string mapping;  // whose flags and defaults, of which version, were read
  std::vector<LaunchSetting> settings;
  std::vector<std::string> no_effect;     // flags that change neither schedule nor cost
  std::vector<std::string> not_modelled;  // flags that do, and that no scenario can say, each with its effect
  std::vector<std::string> unknown;       // words that the mapping does not know
};

// A plug-in per engine.
class LaunchMapping {
 public:
  struct Input {
    std::vector<std::string> words;  // the command, split as a shell splits it, without settings of variables
    std::string device_id;
    DeviceSpec device;
  };

  virtual ~LaunchMapping() = default;
  // Whether the words start this engine.
  virtual bool is_mine(const std::vector<std::string>& words) const = 0;
  // Throws ConfigError, at the place `--from`, for a flag without its value or a value that makes no sense.
  virtual LaunchReading read(const Input& input) const = 0;
};

// The words of a shell command: quotes, backslashes and continued lines, up to the first ; & | < or >.
// Settings of variables before it (NAME=value) are left out. Throws ConfigError for an open quote.
std::vector<std::string> split_command(const std::string& command);

// Throws ConfigError for a command that no mapping reads, or a device that is not in the catalogue.
LaunchReading read_launch_command(const std::string& command, const std::string& device);

// A commented scenario file of that name, with stand-in traffic, of which a launch command says nothing.
std::string scenario_text(const LaunchReading& reading, const std::string& name);

// The error of all that is wrong with a command.
[[noreturn]] void reject_launch(const std::string& message, const std::string& remedy);

}  // namespace servetwin
