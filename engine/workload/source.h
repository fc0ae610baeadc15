// Where requests come from: a stream of arrivals with what only the outside world knows about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/request.h"

namespace servetwin {

// Facts the core may not know. They stay behind the backend.
struct RequestTruth {
  Tokens output{1};               // tokens the model would produce before stopping by itself, at least 1
  Duration cancel_after{-1};      // the client goes away this long after arrival; negative: never
  Duration deadline{-1};          // total time the client waits; negative: no limit
  Duration queue_timeout{-1};     // longest wait for the first schedule
  Duration ttft_timeout{-1};      // longest wait for the first token
  double reader_bytes_per_s = 0;  // 0: the client reads at once
  Bytes reader_window{0};         // bytes the client's side buffers before the server notices
};

struct WorkloadItem {
  RequestSpec spec;  // spec.id is set by the source: running numbers from 0
  RequestTruth truth;
};

// What a report says about the traffic; counts are of what was read so far.
struct SourceFacts {
  bool uses_oracle = false;          // max_tokens are the true outputs
  bool closed_loop = false;          // arrivals wait for answers, so latencies hide what was not sent
  std::vector<std::string> classes;  // names, by ClassId
  std::string content;             // identity of a trace: name, format, bytes, rows, digest; empty when drawn
  std::int64_t rows = 0;           // rows of the trace
  std::int64_t skipped = 0;        // rows left out because they are bad or record a failure
  std::vector<std::string> notes;  // what was detected or assumed, and the skipped rows by reason
};

// A source gives items in order of arrival, ties in a stated order, one at a time (bounded memory). Sources
// that react to ends (closed loop, sessions) may have nothing to give now and something later.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Arrival of the next item known now, or kTimeNever. Never earlier than an item already taken or an end
  // reported.
  virtual Time next_arrival() = 0;
  // The item of next_arrival(). Not to be called when that is kTimeNever. Reuses the storage of `item`.
  virtual void take(WorkloadItem& item) = 0;
  // A request of this source ended.
  virtual void on_end(const RequestRecord& /*record*/) {}
  // Whether ends can bring arrivals (closed loop, sessions); if not, the simulator may look further ahead.
  virtual bool reacts_to_ends() const { return true; }
  // How many items it will give in all, where it is known before the run.
  virtual std::optional<std::int64_t> total() const { return std::nullopt; }
  // One line for the report: what the traffic is and where its figures come from.
  virtual std::string describe() const = 0;
  virtual SourceFacts facts() const = 0;
};

}  // namespace servetwin
