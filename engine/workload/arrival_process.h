// When requests of an open-loop workload start: one plug-in per arrival process.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/time.h"

namespace servetwin {

class ArrivalProcess {
 public:
  // What a process is made with besides its own parameters.
  struct MakeContext {
    std::uint64_t seed = 0;
    std::optional<std::int64_t> num_requests;  // where the workload says it
    SourcePlace place;                         // of the parameters, for messages
    std::string path;
  };

  virtual ~ArrivalProcess() = default;
  // The time of the next arrival, in whole nanoseconds fixed at the draw; times do not fall. kTimeNever: no
  // more.
  virtual Time next() = 0;
  // How many to expect within `span` from the start, or a little more.
  virtual double expected(Duration span) const = 0;
};

}  // namespace servetwin
