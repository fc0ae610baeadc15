// A whole small world for a GoldenDriver: requests, their true outputs, cancellations and step durations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/golden_driver.h"

namespace servetwin {

struct GoldenJob {
  RequestSpec spec;
  std::int64_t output = 1;      // tokens until it stops by itself; at least max_tokens: it runs to its length
  Time cancelled = kTimeNever;  // after the arrival
  Time ready = kTimeNever;      // when what it waits for is there
};

struct GoldenScenario {
  GoldenSetup setup;
  std::vector<GoldenJob> jobs;           // ids 0, 1, ...
  std::vector<Duration> step_durations;  // of step k: the entry k modulo their number; none is zero
};

struct GoldenRun {
  std::vector<StepTrace> steps;
  std::vector<EndTrace> ends;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> digests;
};

// Runs until nothing happens any more. Steps follow each other on one device.
GoldenRun run_scenario(GoldenDriver& driver, const GoldenScenario& scenario);

std::string to_text(const std::vector<std::pair<RequestId, std::int64_t>>& counts);  // "0:400 1:224"
std::string to_text(const std::vector<RequestId>& ids);
std::string to_text(const StepTrace& step);
std::string to_text(const EndTrace& end);
std::string to_text(const GoldenScenario& scenario);

}  // namespace servetwin
