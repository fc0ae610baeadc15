// Where scenario files and the files they name are found.
#pragma once

#include <string>
#include <vector>

#include "engine/base/config_node.h"

namespace servetwin {

// What `kind` says in a file that compares scenarios.
inline constexpr const char* kComparisonKind = "Comparison";

// Folder with the shipped scenarios: of the source tree, of the installation, or beside the program; empty if
// none.
std::string shipped_scenarios_folder();
// Short names of the shipped scenarios, and of the shipped comparisons of them, sorted.
std::vector<std::string> shipped_scenarios();
std::vector<std::string> shipped_comparisons();

// The file behind a name given by a user: a path as it is, a short name only when no such file exists. Throws
// ConfigError CFG001, with the nearest short name, when there is neither.
std::string find_scenario(const std::string& name_or_path);

// The same for a name in `file`: what lies beside that file comes first.
std::string find_scenario_beside(const std::string& file, const std::string& name_or_path);

// Reads a scenario and lays it upon the file it `extends`, and that one upon its own. Throws ConfigError.
ConfigNode load_extended(const std::string& text, const std::string& file);

// Makes relative files named in a scenario relative to the working directory instead of to the scenario's own
// file. What comes from the command line is so already.
void rebase_files(ConfigNode& root);
// Absolute paths in place of relative ones, for a copy of the scenario elsewhere; or file names alone, for a
// hash that does not depend on where things lie.
enum class FileForm { kAbsolute, kNameOnly };
void rewrite_files(ConfigNode& root, FileForm form);

}  // namespace servetwin
