// Loads a scenario: file, files it extends, command line, defaults; then checks it as a whole.
#include "scenarios/scenario.h"

#include <algorithm>
#include <array>
#include <openssl/evp.h>
#include <utility>

#include "engine/base/check.h"
#include "scenarios/config_tree.h"
#include "scenarios/input_text.h"
#include "scenarios/scenario_files.h"
#include "scenarios/validate.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

// A trace brings arrivals and lengths of its own; what clients ask for stays as the scenario says.
void replace_workload(ConfigNode& root, const std::string& workload) {
  const ConfigNode* old = find_path(root, "spec.workload.max_tokens");
  const ConfigNode max_tokens = old == nullptr ? ConfigNode{} : *old;
  if (!starts_with(workload, "trace:")) {
    throw ConfigError(Problem{"CFG018", SourcePlace{"--workload " + workload, 0, 0}, "spec.workload",
                              "is no trace", "write --workload trace:FILE"});
  }
  if (workload.size() == 6) {
    throw ConfigError(Problem{"CFG018", SourcePlace{"--workload " + workload, 0, 0}, "spec.workload",
                              "names no file", "write --workload trace:FILE"});
  }
  ConfigNode value = text_node(workload.substr(6), true, kOriginCommandLine);
  apply_override(root, "spec.workload={}");
  ConfigNode& trace = make_path(root, "spec.workload.trace");
  value.path = trace.path;
  value.place = SourcePlace{"--workload " + workload, 0, 0};
  trace = std::move(value);
  if (!max_tokens.is_null()) make_path(root, "spec.workload.max_tokens") = max_tokens;
}

// Such a file is no broken scenario: it is meant for another verb.
void refuse_comparison(const ConfigNode& root) {
  const ConfigNode* kind = root.is_map() ? root.find("kind") : nullptr;
  if (kind == nullptr || kind->text != kComparisonKind) return;
  throw ConfigError(Problem{kCodeBadValue, kind->place, "kind",
                            "is a comparison of scenarios, not one of them",
                            "write `servetwin compare " + kind->place.file + "`"});
}

// Gives every value of `tree` the place and origin of the same key in `source`; what is not there is a
// default.
void copy_origins(ConfigNode& tree, const ConfigNode* source, const std::string& path) {
  tree.path = path;
  tree.origin = source != nullptr && !source->is_null() ? source->origin : kOriginDefault;
  if (source != nullptr) tree.place = source->place;
  for (auto& [name, child] : tree.entries) {
    const ConfigNode* below = source != nullptr && source->is_map() ? source->find(name) : nullptr;
    copy_origins(child, below, path.empty() ? name : path + '.' + name);
  }
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    const bool present = source != nullptr && i < source->items.size();
    copy_origins(tree.items[i], present ? &source->items[i] : source, path + '[' + std::to_string(i) + ']');
  }
}

// What a workload leaves out is absent, not a default: it has many parts that exclude each other.
void drop_nulls(ConfigNode& node) {
  std::erase_if(node.entries, [](const auto& entry) { return entry.second.is_null(); });
  for (auto& [name, child] : node.entries) drop_nulls(child);
  for (ConfigNode& item : node.items) drop_nulls(item);
}

}  // namespace

bool Scenario::slow_readers_pause() const {
  if (spec().front_end.slow_reader != SlowReaderAction::kPause) return false;
  const auto reads_slowly = [](const TrafficSpec& traffic) {
    return traffic.slow_readers.has_value() && traffic.slow_readers->share > 0;
  };
  return reads_slowly(workload.traffic) ||
         std::any_of(workload.classes.begin(), workload.classes.end(),
                     [&](const ClassSpec& one) { return reads_slowly(one.traffic); });
}

std::string path_from_root(const std::string& key) {
  constexpr std::array<const char*, 4> kRootKeys = {"spec", "metadata", "apiVersion", "kind"};
  for (const std::string root_key : kRootKeys) {
    const std::size_t end = root_key.size();
    if (starts_with(key, root_key) && (key.size() == end || key[end] == '.' || key[end] == '=')) return key;
  }
  return "spec." + key;
}

Scenario resolve_scenario(ConfigNode root, const std::string& file, const ScenarioOverrides& overrides) {
  refuse_comparison(root);
  if (overrides.workload) replace_workload(root, *overrides.workload);
  for (const std::string& assignment : overrides.set) {
    apply_override(root, assignment, path_from_root(assignment) == assignment ? "" : "spec.");
  }
  rebase_files(root);
  add_preset(root);
  std::vector<Problem> problems;
  Scenario scenario;
  scenario.source = file;
  scenario.document = read_params<ScenarioDocument>(root, problems);
  complete_scenario(scenario, root, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  ConfigNode workload = write_params(scenario.workload);
  drop_nulls(workload);
  scenario.document.spec.workload = std::move(workload);
  scenario.resolved = write_params(scenario.document);
  copy_origins(scenario.resolved, &root, "");
  return scenario;
}

Scenario parse_scenario(const std::string& text,
                        const std::string& file,
                        const ScenarioOverrides& overrides) {
  return resolve_scenario(load_extended(text, file), file, overrides);
}

Scenario load_scenario(const std::string& name_or_path, const ScenarioOverrides& overrides) {
  const std::string file = find_scenario(name_or_path);
  return parse_scenario(read_input(file), file == "-" ? "standard input" : file, overrides);
}

std::string write_scenario(const Scenario& scenario) {
  ConfigNode tree = scenario.resolved;
  rewrite_files(tree, FileForm::kAbsolute);
  return write_yaml(tree, "Resolved from " + scenario.source + ": every value, defaults included.");
}

std::string scenario_hash(const Scenario& scenario) {
  ConfigNode tree = scenario.resolved;
  rewrite_files(tree, FileForm::kNameOnly);
  const std::string text = write_yaml(tree);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int ok = EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  CHECK_INVARIANT(ok == 1, ok);
  constexpr const char* kHex = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kHex[digest[i] >> 4U];
    hex += kHex[digest[i] & 0xFU];
  }
  return hex;
}

}  // namespace servetwin
