// Textbook queues made of the real core, held against the recursion that gives every start and end.
#pragma once

#include <cstdint>
#include <string>

namespace servetwin {

enum class ServiceLaw { kExponential, kConstant, kUniform };

struct QueueCheck {
  std::int64_t customers = 0;
  std::int64_t different = 0;  // whose start or end is not the recursion's
  double mean_wait_s = 0;
  double theory_wait_s = 0;  // of the stationary queue
  bool little = false;  // integral of the number present equals the sum of the sojourns, to the nanosecond
};

// `servers` replicas of one slot behind one queue, mean service 100 ms, at that load.
QueueCheck check_queue(ServiceLaw law, int servers, double load, std::uint64_t seed);

}  // namespace servetwin
