// Options that are numbers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace servetwin {

// Throw UsageError, naming verb and option, for what is no such number or outside the range.
std::int64_t whole_option(const char* verb,
                          const char* option,
                          const std::string& text,
                          std::pair<std::int64_t, std::int64_t> range);
double decimal_option(const char* verb,
                      const char* option,
                      const std::string& text,
                      std::pair<double, double> range);

}  // namespace servetwin
