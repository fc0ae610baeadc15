// The folder that a run writes its files into.
#pragma once

#include <string>

namespace servetwin {

// Makes the folder, empty of an earlier run's files. Throws ConfigError where there are some and they are not
// to be replaced, IoError where that cannot be done.
void prepare_run_folder(const std::string& folder, bool replace);
// Throws ConfigError where there are some.
void check_run_folder(const std::string& folder);

}  // namespace servetwin
