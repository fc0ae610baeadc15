// Devices and engines' own times of the catalogue by name, and what of a scenario decides how much KV cache
// fits on one.
#pragma once

#include <string>
#include <vector>

#include "costmodels/device_spec.h"
#include "costmodels/engine_set.h"
#include "costmodels/memory_model.h"
#include "costmodels/operator_profile.h"
#include "scenarios/scenario.h"

namespace servetwin {

// Ids of the shipped devices, sorted.
std::vector<std::string> known_devices();

// A device of the catalogue, or a device file when it is written as a path or ends in .yaml. Throws
// ConfigError with the nearest name.
DeviceSpec find_device(const std::string& name_or_file);

// The same for what engines add to their kernels.
std::vector<std::string> known_engine_sets();
EngineSet find_engine_set(const std::string& name_or_file);

// The same for what was fitted to a device's kernels.
OperatorProfile find_operators(const std::string& name_or_file);

// Points into the scenario.
MemoryRequest memory_request(const Scenario& scenario);

}  // namespace servetwin
