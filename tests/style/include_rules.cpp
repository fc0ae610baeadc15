// Include arrows: which folder may include which, written once as a table.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/rules.h"

namespace servetwin::style {
namespace {

struct Arrow {
  std::string from;             // a folder
  std::vector<std::string> to;  // what it may include besides itself: folders, or single headers
};

const std::vector<Arrow>& arrows() {
  static const std::vector<std::string> kCore{"engine/base/", "engine/serving/"};
  static const std::vector<Arrow> kArrows{
      {"engine/base/", {"generated/servetwin_paths.h"}},
      {"engine/serving/", {"engine/base/"}},
      {"engine/decoding/", {"engine/base/"}},
      {"engine/models/", {"engine/base/"}},
      {"engine/workload/", kCore},
      {"engine/metrics/", {"engine/base/", "engine/serving/", "generated/servetwin_build.h"}},
      {"engine/journal/", {"engine/base/", "engine/serving/", "generated/servetwin_build.h"}},
      {"engine/live/",
       {"engine/base/", "engine/serving/", "engine/workload/", "engine/metrics/", "engine/decoding/",
        "engine/models/", "engine/journal/", "kernels/"}},
      {"kernels/", {"engine/base/", "engine/decoding/"}},
      {"costmodels/",
       {"engine/base/", "engine/serving/shape.h", "engine/serving/estimator.h", "engine/models/spec.h"}},
      {"sim/",
       {"engine/base/", "engine/serving/", "engine/workload/", "engine/metrics/", "engine/journal/",
        "costmodels/", "engine/models/spec.h"}},
      {"calibrate/", {"engine/", "kernels/", "costmodels/", "sim/"}},
      {"scenarios/", {"engine/", "kernels/", "costmodels/", "sim/", "generated/"}},
      {"cmake/", {"generated/servetwin_abi.h"}},
      {"cli/", {"engine/", "kernels/", "costmodels/", "sim/", "scenarios/", "calibrate/", "generated/"}},
      {"tests/",
       {"engine/", "kernels/", "costmodels/", "sim/", "scenarios/", "calibrate/", "cli/", "generated/"}},
  };
  return kArrows;
}

// Headers that take long to compile or that only a shell may know: in .cpp files alone.
const std::vector<std::string> kHeavy{"fmt/",    "nlohmann/",   "yaml-cpp/", "CLI/", "boost/", "simdjson",
                                      "spdlog/", "prometheus/", "openssl/",  "zstd", "zlib",   "Eigen/"};

// Declarations alone, made for headers.
constexpr std::string_view kForward = "nlohmann/json_fwd.hpp";

bool is_cost_function(std::string_view path) {
  return path.starts_with("kernels/") && (path.ends_with("_cost.h") || path.ends_with("_cost.cpp"));
}

bool is_allowed(std::string_view from, std::string_view target) {
  if (is_cost_function(from)) return target.starts_with("engine/base/") || is_cost_function(target);
  if (from.starts_with("costmodels/") && is_cost_function(target)) return true;
  for (const Arrow& arrow : arrows()) {
    if (from.starts_with(arrow.from))
      return target.starts_with(arrow.from) || starts_with_any(target, arrow.to);
  }
  return false;
}

// What stands between the quotes or brackets of an include line.
struct Included {
  std::string name;
  bool quoted = false;
};

std::optional<Included> included(const SourceFile& file, std::size_t index) {
  std::string_view code = trimmed(file.code[index]);
  if (!code.starts_with("#")) return std::nullopt;
  if (!trimmed(code.substr(1)).starts_with("include")) return std::nullopt;
  const std::string& line = file.lines[index];
  const std::size_t open = line.find_first_of("\"<");
  if (open == std::string::npos) return std::nullopt;
  const std::size_t close = line.find_first_of("\">", open + 1);
  return Included{line.substr(open + 1, close - open - 1), line[open] == '"'};
}

void check_include(const SourceFile& file, std::size_t index, Findings& findings) {
  const std::optional<Included> include = included(file, index);
  if (!include) return;
  if (is_header(file.path) && starts_with_any(include->name, kHeavy) && include->name != kForward) {
    findings.push_back({file.path, index + 1, "<" + include->name + "> belongs in a .cpp file"});
  }
  if (include->quoted && !is_allowed(file.path, include->name)) {
    findings.push_back({file.path, index + 1, "may not include \"" + include->name + "\""});
  }
}

}  // namespace

Findings include_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!is_cpp(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) check_include(file, i, findings);
  }
  return findings;
}

}  // namespace servetwin::style
