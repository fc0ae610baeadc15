// The text of refusals is the same for all verbs.
#include "cli/numbers.h"

#include <fmt/format.h>

#include "cli/arguments.h"
#include "engine/base/unit_text.h"

namespace servetwin {

std::int64_t whole_option(const char* verb,
                          const char* option,
                          const std::string& text,
                          std::pair<std::int64_t, std::int64_t> range) {
  const auto value = parse_integer(text);
  if (value && *value.value >= range.first && *value.value <= range.second) return *value.value;
  throw UsageError(fmt::format("servetwin {}: {} takes a whole number from {} to {}, not {}", verb, option,
                               range.first, range.second, text));
}

double decimal_option(const char* verb,
                      const char* option,
                      const std::string& text,
                      std::pair<double, double> range) {
  const auto value = parse_decimal(text);
  if (value && *value.value >= range.first && *value.value <= range.second) return *value.value;
  throw UsageError(fmt::format("servetwin {}: {} takes a number from {} to {}, not {}", verb, option,
                               range.first, range.second, text));
}

}  // namespace servetwin
