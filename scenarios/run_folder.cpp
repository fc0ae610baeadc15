// Nothing of another run is left beside the files of this one.
#include "scenarios/run_folder.h"

#include <array>
#include <filesystem>

#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr std::array<const char*, 9> kRunFiles = {"config.yaml",       "summary.json",  "requests.csv",
                                                  "steps.csv",         "timeline.json", "metrics.prom",
                                                  "journal.jsonl.zst", "itls.jsonl",    "tokens.jsonl"};

void make(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw IoError(folder.string() + ": cannot be made: " + failed.message());
}

}  // namespace

void prepare_run_folder(const std::string& folder, bool replace) {
  const std::filesystem::path path(folder);
  if (!replace) check_run_folder(folder);
  std::error_code failed;
  for (const char* name : kRunFiles) {
    if (!std::filesystem::exists(path / name, failed)) continue;
    if (!std::filesystem::remove(path / name, failed)) {
      throw IoError((path / name).string() + ": cannot be removed: " + failed.message());
    }
  }
  make(path);
}

void check_run_folder(const std::string& folder) {
  std::error_code failed;
  for (const char* name : kRunFiles) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    // A run under way, or one that was killed, has begun its files under another name.
    if (!std::filesystem::exists(file, failed) &&
        !std::filesystem::exists(file.string() + ".partial", failed))
      continue;
    throw ConfigError(Problem{"CFG301", SourcePlace{folder, 0, 0}, "", "holds the files of another run",
                              "give another --out, or --force to replace them"});
  }
}

}  // namespace servetwin
