// Step durations as a file gives them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "costmodels/cost_model.h"
#include "engine/base/time.h"

namespace servetwin {

struct DurationTable {
  bool by_request = false;
  std::map<std::uint64_t, Duration> rows;
  std::optional<Duration> otherwise;  // the row "*"
  Evidence evidence = Evidence::kAnalytic;
};

// CSV: the header step,duration_us or request,duration_us, then a row each; * stands for all others.
// Microseconds may have three decimals. A line "# evidence: measured" says that a device took these times;
// without it they are only given. Throws ConfigError with file and line.
DurationTable read_durations(const std::string& file);

}  // namespace servetwin
