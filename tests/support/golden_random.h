// Small random scenarios that are rich in preemptions, evictions, shared prefixes and ties.
#pragma once

#include <cstdint>

#include "tests/support/golden_scenario.h"

namespace servetwin {

// Every request can finish alone in the pool or is turned away, so every scenario ends. `depth` and
// `speculate` are as in InFlight; the rest is drawn from the seed.
GoldenScenario random_scenario(std::uint64_t seed, int depth, bool speculate);

// The same with KV groups of windows, sinks among them, and nobody swapped out.
GoldenScenario random_windowed_scenario(std::uint64_t seed, int depth, bool speculate);

}  // namespace servetwin
