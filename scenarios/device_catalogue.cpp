// One device a file, read by the strict YAML loader.
#include "scenarios/device_catalogue.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "engine/base/data_files.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr const char* kFolder = "costmodels/devices";
constexpr const char* kExtension = ".yaml";

}  // namespace

std::vector<std::string> known_devices(const std::vector<std::string>& folders) {
  std::set<std::string> ids;
  for (const std::string& folder : folders) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / kFolder, failed)) {
      if (entry.path().extension() == kExtension) ids.insert(entry.path().stem().string());
    }
  }
  return {ids.begin(), ids.end()};
}

DeviceSpec find_device(const std::string& id, const std::vector<std::string>& folders) {
  if (std::filesystem::path(id).extension() == kExtension) return device_from(load_yaml_file(id));
  const auto file = find_data_file(folders, std::string(kFolder) + "/" + id + kExtension);
  if (!file) {
    const std::string nearest = nearest_name(id, known_devices(folders));
    throw ConfigError(Problem{kCodeUnknownName, {}, "", "no device is called \"" + id + "\"",
                              nearest.empty() ? "`servetwin list devices` shows them; or name a .yaml file"
                                              : "did you mean " + nearest + "?"});
  }
  return device_from(load_yaml_file(*file));
}

}  // namespace servetwin
