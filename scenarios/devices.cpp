// Looks devices up in the data folders.
#include "scenarios/devices.h"

#include <filesystem>
#include <set>

#include "engine/base/data_files.h"
#include "engine/models/kv_format.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr const char* kDevices = "costmodels/devices";
constexpr const char* kEngines = "costmodels/engines";
constexpr const char* kOperators = "costmodels/profiles";

// Names of the files of a catalogue folder, sorted.
std::vector<std::string> known_in(const char* catalogue) {
  std::set<std::string> names;
  for (const std::string& folder : data_folders()) {
    std::error_code failed;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(folder) / catalogue, failed)) {
      if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

// Of a name of the catalogue, or of a file when it is written as a path or ends in .yaml.
ConfigNode find_in(const char* catalogue, const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  if (path.has_parent_path() || path.extension() == ".yaml") return load_yaml_file(name_or_file);
  const auto file = find_data_file(data_folders(), std::string(catalogue) + '/' + name_or_file + ".yaml");
  if (!file) throw ConfigError(unknown_name_problem(ConfigNode{}, name_or_file, known_in(catalogue)));
  return load_yaml_file(*file);
}

}  // namespace

std::vector<std::string> known_devices() { return known_in(kDevices); }
std::vector<std::string> known_engine_sets() { return known_in(kEngines); }

DeviceSpec find_device(const std::string& name_or_file) {
  return device_from(find_in(kDevices, name_or_file));
}

EngineSet find_engine_set(const std::string& name_or_file) {
  return read_params<EngineSet>(find_in(kEngines, name_or_file));
}

OperatorProfile find_operators(const std::string& name_or_file) {
  return read_params<OperatorProfile>(find_in(kOperators, name_or_file));
}

MemoryRequest memory_request(const Scenario& scenario) {
  const EngineSpec& engine = scenario.spec().engine;
  MemoryRequest request;
  request.model = &scenario.model;
  request.device_memory = reported_memory(scenario.device);
  if (scenario.engine_set) request.engine = scenario.engine_set->memory;
  request.tp = static_cast<int>(scenario.spec().layout.tp);
  request.dtype = engine.dtype.value_or(scenario.model.dtype);
  request.kv_dtype = engine.kv_format().dtype;
  request.layers_per_block = scenario.kv_groups.layout.layers_per_block;
  request.token_in_block =
      kv_token_bytes(scenario.model, engine.kv_format(), request.tp, request.layers_per_block);
  request.block_size = engine.config.block_size;
  request.max_batched_tokens = engine.config.max_num_batched_tokens;
  request.max_sequences = engine.config.max_num_seqs;
  request.options = engine.memory;
  request.options.fraction = *engine.memory_fraction;
  return request;
}

}  // namespace servetwin
