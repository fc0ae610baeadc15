// Finds shipped scenarios, follows `extends`, and keeps file names meaningful when a scenario moves.
#include "scenarios/scenario_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <utility>

#include "engine/base/data_files.h"
#include "scenarios/config_tree.h"
#include "scenarios/input_text.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxExtends = 16;
constexpr const char* kTracePrefix = "trace:";
// Keys whose text is a file. A model or device is one only when written as a path.
constexpr std::array<const char*, 4> kFileKeys = {"spec.workload.trace", "spec.workload.trace.file",
                                                  "spec.cost.durations", "spec.cost.profile"};
constexpr std::array<const char*, 2> kTraceKeys = {"spec.workload", "spec.initial.kv_cache"};
constexpr std::array<const char*, 2> kNameOrFileKeys = {"spec.model", "spec.device"};

bool is_path(const std::string& text) {
  return text.rfind("./", 0) == 0 || text.rfind("../", 0) == 0 || text.rfind('/', 0) == 0;
}

ConfigNode* scalar_at(ConfigNode& root, const std::string& path) {
  const ConfigNode* found = find_path(root, path);
  return found != nullptr && found->is_scalar() ? const_cast<ConfigNode*>(found) : nullptr;
}

using PathChange = std::function<std::string(const ConfigNode& node, const std::string& path)>;

void change_files(ConfigNode& root, const PathChange& change) {
  for (const char* key : kFileKeys) {
    if (ConfigNode* node = scalar_at(root, key)) node->text = change(*node, node->text);
  }
  for (const char* key : kNameOrFileKeys) {
    ConfigNode* node = scalar_at(root, key);
    if (node != nullptr && is_path(node->text)) node->text = change(*node, node->text);
  }
  const std::string prefix = kTracePrefix;
  for (const char* key : kTraceKeys) {
    ConfigNode* node = scalar_at(root, key);
    if (node == nullptr || node->text.rfind(prefix, 0) != 0) continue;
    node->text = prefix + change(*node, node->text.substr(prefix.size()));
  }
}

std::string beside(const std::string& file, const std::string& path) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(file).parent_path() / path).lexically_normal().string();
}

std::string identity_of(const std::string& file) {
  std::error_code ignored;
  const fs::path canonical = fs::weakly_canonical(file, ignored);
  return canonical.empty() ? file : canonical.string();
}

// Takes the `extends` entry out of the map and gives it back; null when there is none.
ConfigNode take_extends(ConfigNode& root) {
  const auto found = std::find_if(root.entries.begin(), root.entries.end(),
                                  [](const auto& entry) { return entry.first == "extends"; });
  if (found == root.entries.end()) return {};
  ConfigNode node = std::move(found->second);
  root.entries.erase(found);
  return node;
}

[[noreturn]] void refuse_extends(const ConfigNode& node, std::string message, std::string remedy) {
  throw ConfigError(Problem{"CFG017", node.place, "extends", std::move(message), std::move(remedy)});
}

ConfigNode load_chain(const std::string& text, const std::string& file, std::vector<std::string>& chain) {
  ConfigNode root = load_yaml_text(text, file);
  if (!root.is_map()) {
    throw ConfigError(Problem{kCodeWrongType, root.place, "", "is not a map of keys",
                              "begin with `apiVersion: servetwin/v1`"});
  }
  const ConfigNode extends = take_extends(root);
  if (extends.is_null()) return root;
  if (!extends.is_scalar()) refuse_extends(extends, "must name one file", "write `extends: base.yaml`");
  const std::string base_file = find_scenario_beside(file, extends.text);
  chain.push_back(identity_of(file));
  if (std::find(chain.begin(), chain.end(), identity_of(base_file)) != chain.end()) {
    refuse_extends(extends, base_file + " extends itself, by way of this file",
                   "remove one of the `extends`");
  }
  if (chain.size() >= kMaxExtends)
    refuse_extends(extends, "more than 16 files extend each other", "merge some");
  ConfigNode base = load_chain(read_input(base_file), base_file, chain);
  overlay(base, root);
  return base;
}

std::vector<std::string> shipped_files(bool comparisons) {
  const std::string mark = std::string("\nkind: ") + kComparisonKind + '\n';
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(shipped_scenarios_folder(), failed)) {
    if (entry.path().extension() != ".yaml") continue;
    const bool compares = read_input(entry.path().string()).find(mark) != std::string::npos;
    if (compares == comparisons) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string shipped_scenarios_folder() {
  const auto file = find_data_file(data_folders(), "scenarios/quickstart.yaml");
  return file ? fs::path(*file).parent_path().lexically_normal().string() : "";
}

std::vector<std::string> shipped_scenarios() { return shipped_files(false); }

std::vector<std::string> shipped_comparisons() { return shipped_files(true); }

std::string find_scenario_beside(const std::string& file, const std::string& name_or_path) {
  const std::string near = beside(file, name_or_path);
  std::error_code failed;
  return fs::exists(near, failed) ? near : find_scenario(name_or_path);
}

std::string find_scenario(const std::string& name_or_path) {
  std::error_code failed;
  if (name_or_path == "-" || fs::exists(name_or_path, failed)) return name_or_path;
  std::vector<std::string> names = shipped_scenarios();
  for (std::string& name : shipped_comparisons()) names.push_back(std::move(name));
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    return (fs::path(shipped_scenarios_folder()) / (name_or_path + ".yaml")).string();
  }
  const std::string nearest = nearest_name(name_or_path, names);
  throw ConfigError(Problem{"CFG001", SourcePlace{name_or_path, 0, 0}, "", "no such file",
                            nearest.empty() ? "check the path; `servetwin list` shows the shipped scenarios"
                                            : "did you mean " + nearest + "?"});
}

ConfigNode load_extended(const std::string& text, const std::string& file) {
  std::vector<std::string> chain;
  return load_chain(text, file, chain);
}

void rebase_files(ConfigNode& root) {
  change_files(root, [](const ConfigNode& node, const std::string& path) {
    return node.origin == kOriginFile ? beside(node.place.file, path) : path;
  });
}

void rewrite_files(ConfigNode& root, FileForm form) {
  change_files(root, [form](const ConfigNode&, const std::string& path) {
    const fs::path file(path);
    return form == FileForm::kNameOnly ? file.filename().string()
                                       : fs::absolute(file).lexically_normal().string();
  });
}

}  // namespace servetwin
