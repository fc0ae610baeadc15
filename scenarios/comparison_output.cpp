// Checked before anything is simulated, written when all is known.
#include "scenarios/comparison_output.h"

#include <array>
#include <filesystem>

#include "engine/metrics/output_file.h"
#include "scenarios/comparison_report.h"

namespace servetwin {
namespace {

constexpr const char* kJsonFile = "comparison.json";
constexpr const char* kCsvFile = "comparison.csv";

std::string file_in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

}  // namespace

void check_comparison_folder(const std::string& folder, bool replace) {
  std::error_code failed;
  for (const char* name : {kJsonFile, kCsvFile}) {
    if (replace || !std::filesystem::exists(file_in(folder, name), failed)) continue;
    throw ConfigError(Problem{"CFG301", SourcePlace{folder, 0, 0}, "",
                              "holds the files of another comparison",
                              "give another --out, or --force to replace them"});
  }
}

std::vector<std::string> write_comparison(const std::string& folder, const ComparisonOutcome& outcome) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw IoError(folder + ": cannot be made: " + failed.message());
  write_file(file_in(folder, kJsonFile), comparison_json(outcome));
  write_file(file_in(folder, kCsvFile), comparison_csv(outcome));
  return {file_in(folder, kJsonFile), file_in(folder, kCsvFile)};
}

}  // namespace servetwin
