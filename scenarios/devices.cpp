// Looks devices up in the data folders.
#include "scenarios/devices.h"

#include <filesystem>
#include <set>

#include "engine/base/data_files.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr const char* kFolder = "costmodels/devices";

}  // namespace

std::vector<std::string> known_devices() {
  std::set<std::string> names;
  for (const std::string& folder : data_folders()) {
    std::error_code failed;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(folder) / kFolder, failed)) {
      if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

DeviceSpec find_device(const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  if (path.has_parent_path() || path.extension() == ".yaml") return device_from(load_yaml_file(name_or_file));
  const auto file = find_data_file(data_folders(), std::string(kFolder) + '/' + name_or_file + ".yaml");
  if (!file) throw ConfigError(unknown_name_problem(ConfigNode{}, name_or_file, known_devices()));
  return device_from(load_yaml_file(*file));
}

MemoryRequest memory_request(const Scenario& scenario) {
  const EngineSpec& engine = scenario.spec().engine;
  MemoryRequest request;
  request.model = &scenario.model;
  request.device_memory = scenario.device.memory;
  request.tp = static_cast<int>(scenario.spec().layout.tp);
  request.dtype = engine.dtype.value_or(scenario.model.dtype);
  request.kv_dtype = engine.kv_dtype.value_or(request.kv_dtype);
  request.block_size = engine.config.block_size;
  request.max_batched_tokens = engine.config.max_num_batched_tokens;
  request.max_sequences = engine.config.max_num_seqs;
  request.options = engine.memory;
  request.options.fraction = *engine.memory_fraction;
  return request;
}

}  // namespace servetwin
