// Devices by their ids, from YAML files: those that come with the program, and the user's own.
#pragma once

#include <string>
#include <vector>

#include "costmodels/device_spec.h"

namespace servetwin {

// Ids of all devices in `folders`, sorted.
std::vector<std::string> known_devices(const std::vector<std::string>& folders);

// costmodels/devices/<id>.yaml in the first of `folders` (engine/base/data_files.h) that has it; an id that ends in
// .yaml is the file itself. Throws ConfigError naming the nearest id, or the file and field.
DeviceSpec find_device(const std::string& id, const std::vector<std::string>& folders);

}  // namespace servetwin
