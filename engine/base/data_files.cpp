// Where data files are depends on whether the program runs from its build tree or from an installed prefix.
#include "engine/base/data_files.h"

#include <filesystem>
#include <system_error>

#include "generated/servetwin_paths.h"

namespace servetwin {

std::vector<std::string> data_folders() {
  std::vector<std::string> folders{std::string(kDataDirSource)};
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back((program.parent_path() / kDataDirFromProgram).lexically_normal().string());
  folders.emplace_back(kDataDirInstall);
  return folders;
}

std::optional<std::string> find_data_file(const std::vector<std::string>& folders,
                                          const std::string& relative) {
  for (const std::string& folder : folders) {
    const auto path = std::filesystem::path(folder) / relative;
    std::error_code failed;
    if (std::filesystem::is_regular_file(path, failed)) return path.string();
  }
  return std::nullopt;
}

}  // namespace servetwin
