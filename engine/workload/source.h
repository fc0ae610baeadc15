// Where requests come from: a stream of arrivals with what only the outside world knows about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/request.h"

namespace servetwin {

// Facts the core may not know. They stay behind the backend.
struct RequestTruth {
  Tokens output{1};                 // tokens the model would produce before stopping by itself, at least 1
  Duration cancel_after{-1};        // the client goes away this long after arrival; negative: never
  Duration deadline{-1};            // total time the client waits; negative: no limit
  Duration queue_timeout{-1};       // longest wait for the first schedule
  Duration ttft_timeout{-1};        // longest wait for the first token
  double reader_bytes_per_s = 0;    // 0: the client reads at once
  Bytes reader_window{0};           // bytes the client's side buffers before the server notices
};

struct WorkloadItem {
  RequestSpec spec;   // spec.id is set by the source: running numbers from 0
  RequestTruth truth;
};

// A source gives items in order of arrival, ties in a stated order, one at a time (bounded memory). Sources that
// react to ends (closed loop, sessions) may have nothing to give now and something later.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Arrival of the next item known now, or kTimeNever. Never earlier than an item already taken or an end reported.
  virtual Time next_arrival() = 0;
  // The item of next_arrival(). Not to be called when that is kTimeNever. Reuses the storage of `item`.
  virtual void take(WorkloadItem& item) = 0;
  // A request of this source ended.
  virtual void on_end(const RequestRecord& /*record*/) {}
  // How many items it will give in all, where it is known before the run.
  virtual std::optional<std::int64_t> total() const { return std::nullopt; }
  // One line for the report: what the traffic is and where its figures come from.
  virtual std::string describe() const = 0;
};

}  // namespace servetwin
