// Any text either becomes a scenario or a ConfigError: no crash, no hang, no other exception.
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "scenarios/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    servetwin::parse_scenario(std::string(data, data + size), "fuzz.yaml");
  } catch (const servetwin::ConfigError& error) {
    if (error.problems().empty() || error.problems().front().code.empty()) __builtin_trap();
  }
  return 0;
}
