// Nothing of another run is left beside the files of this one.
#include "scenarios/run_folder.h"

#include <array>
#include <filesystem>

#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr std::array<const char*, 8> kRunFiles = {"config.yaml",       "summary.json",  "requests.csv",
                                                  "steps.csv",         "timeline.json", "metrics.prom",
                                                  "journal.jsonl.zst", "itls.jsonl"};

}  // namespace

void prepare_run_folder(const std::string& folder, bool replace) {
  const std::filesystem::path path(folder);
  std::error_code failed;
  for (const char* name : kRunFiles) {
    if (!std::filesystem::exists(path / name, failed)) continue;
    if (!replace) {
      throw ConfigError(Problem{"CFG301", SourcePlace{folder, 0, 0}, "", "holds the files of another run",
                                "give another --out, or --force to replace them"});
    }
    if (!std::filesystem::remove(path / name, failed)) {
      throw IoError((path / name).string() + ": cannot be removed: " + failed.message());
    }
  }
  std::filesystem::create_directories(path, failed);
  if (failed) throw IoError(folder + ": cannot be made: " + failed.message());
}

}  // namespace servetwin
