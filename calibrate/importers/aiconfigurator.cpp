// The operator tables of ai-dynamo/aiconfigurator as CSV: <device>__<operator>__<engine>_<version>.csv.
#include <algorithm>
#include <filesystem>

#include "calibrate/importers/aiconfigurator_rows.h"
#include "calibrate/importers/importer.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

class Aiconfigurator final : public Importer {
 public:
  explicit Aiconfigurator(const Params& /*params*/) {}

  OperatorSamples read(const std::string& folder, const std::string& device) const override {
    std::string prefix = device;
    std::replace(prefix.begin(), prefix.end(), '-', '_');
    OperatorSamples samples;
    std::vector<std::string> files;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
      files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      const std::string name = std::filesystem::path(file).filename().string();
      if (name.rfind(prefix + "__", 0) != 0) continue;
      const std::size_t at = prefix.size() + 2;
      const std::string op = name.substr(at, name.find("__", at) - at);
      if (reads_aiconfigurator_table(op)) add_aiconfigurator_rows(op, CsvTable::read(file), samples);
    }
    if (samples.operators.empty()) {
      throw ConfigError(Problem{kCodeMissing,
                                {folder, 0, 0},
                                "",
                                "holds no tables of " + device,
                                "files are named " + prefix + "__gemm__….csv"});
    }
    samples.source = "ai-dynamo/aiconfigurator 095f58a (Apache-2.0), operator tables of NVIDIA's collector";
    return samples;
  }
};

const Registered<Importer, Aiconfigurator> kAiconfigurator{
    "aiconfigurator", "Operator tables of ai-dynamo/aiconfigurator as CSV."};

}  // namespace
}  // namespace servetwin
