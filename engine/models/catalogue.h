// Models by their Hugging Face names, from a table of shapes.
#pragma once

#include <string>
#include <vector>

#include "engine/models/spec.h"

namespace servetwin {

// Reads a table: lines that begin with # are comments, then a header, then one model a line. A line with only
// a name and an alias_of is a second name. Throws ConfigError with file and line.
std::vector<ModelSpec> read_model_catalogue(const std::string& file);

// All models of costmodels/models/catalogue.csv in the first of `folders` that has it.
std::vector<ModelSpec> known_models(const std::vector<std::string>& folders);

// A catalogue name, or a folder with config.json (whatever has one, or begins with / or a dot). Throws
// ConfigError with the nearest name.
ModelSpec find_model(const std::string& name_or_folder, const std::vector<std::string>& folders);

}  // namespace servetwin
