// Finds the data files that come with the program: devices, models, scenarios.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace servetwin {

// Folders searched in this order: the source tree when it exists, the installed folder beside the program,
// the installed folder of the build.
std::vector<std::string> data_folders();

// The first of `folders` that holds `relative` as a regular file, such as costmodels/models/catalogue.csv.
std::optional<std::string> find_data_file(const std::vector<std::string>& folders,
                                          const std::string& relative);

}  // namespace servetwin
