// Measures a server within a budget: sweeps of loads, and in between how much its KV cache holds.
#pragma once

#include <functional>
#include <string>

#include "calibrate/endpoint/load_runner.h"

namespace servetwin {

struct EndpointProgress {
  std::size_t rows = 0;
  Duration spent{0};
  std::string doing;
};

struct EndpointCampaignOptions {
  Duration budget{std::chrono::minutes(5)};
  LoadSpace space;
  std::int64_t most_sweeps = 12;
  std::function<void(const EndpointProgress&)> progress;
};

struct EndpointCampaignResult {
  std::vector<std::string> warnings;  // for people
  Duration spent{0};
  std::int64_t sweeps = 0;  // that were begun
};

// Each row is in the file before the next load begins. Ends when the time is up, or when the server is asked
// to stop. Throws ConfigError (CAL102) when it fails again and again; the rows remain.
EndpointCampaignResult measure_endpoint(EndpointServer& server,
                                        LoadRowsFile& rows,
                                        const EndpointCampaignOptions& options);

}  // namespace servetwin
