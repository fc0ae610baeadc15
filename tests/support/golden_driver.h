// One handle on any implementation of the scheduling rules, so that the same cases run on the oracle and on
// the core.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/config.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"

namespace servetwin {

struct GoldenSetup {
  EngineConfig engine;       // victims are swapped out where there are host blocks, and recomputed where not
  bool by_priority = false;  // waiting order and victim: FCFS or by (priority, arrival)
};

// What one step did.
struct StepTrace {
  std::int64_t step = 0;
  Time time = kTimeZero;
  std::vector<std::pair<RequestId, std::int64_t>> tokens;    // scheduled, in execution order
  std::vector<std::pair<RequestId, std::int64_t>> admitted;  // with prefix hit
  std::vector<RequestId> sampled;                            // rows that yield a token, in execution order
  std::vector<RequestId>
      preempted;  // in order, since the step before (a plan that starts no step may preempt)
  std::vector<std::pair<RequestId, std::int64_t>> swapped_out;  // with tokens copied, like `preempted`
  std::vector<std::pair<RequestId, std::int64_t>> swapped_in;   // with tokens copied
  std::int64_t swap_blocks = 0;                                 // copied in this plan, either way
  std::int64_t used = 0;                                        // blocks, after the plan
  std::int64_t free = 0;
  std::array<std::int64_t, kNumHeldReasons> held{};
  std::optional<std::vector<int>> free_ids;  // in the order they are handed out, where they can be seen

  friend bool operator==(const StepTrace&, const StepTrace&) = default;
};

struct EndTrace {
  RequestId request = kNoRequest;
  EndState state = EndState::kFailed;
  std::int64_t outputs = 0;
  std::int64_t preemptions = 0;
  Time time = kTimeZero;

  friend bool operator==(const EndTrace&, const EndTrace&) = default;
};

// Calls of one stamp come in the order of events at equal stamps (engine/serving/event.h); plan() comes last.
class GoldenDriver {
 public:
  virtual ~GoldenDriver() = default;

  virtual void advance_to(Time now) = 0;  // the stamp of all that follows
  virtual void cancel(RequestId id) = 0;
  // The step came back. Each sampled row yields one token; the requests of `stops` end with it. `alone`:
  // nothing else happens at this stamp, so a shortcut may be taken.
  virtual void finish_step(std::int64_t step, const std::vector<RequestId>& stops, bool alone) = 0;
  virtual void ready(RequestId id, WaitsFor what) = 0;
  virtual void reset_cache(bool forced) = 0;
  virtual void arrive(const RequestSpec& spec) = 0;
  // Plans one step if one may be planned; nothing if no step was started.
  virtual std::optional<StepTrace> plan() = 0;

  // Requests that ended since the last call, by id within a stamp.
  virtual std::vector<EndTrace> take_ends() = 0;
  virtual std::int64_t free_blocks() const = 0;
  virtual std::int64_t used_blocks() const = 0;
  // Physical ids, or nothing where they cannot be seen.
  virtual std::optional<std::vector<int>> block_ids(RequestId id) const = 0;
  virtual std::optional<std::vector<int>> free_ids() const = 0;
  // Of all decisions, without and with their times; nothing where none are kept.
  virtual std::optional<std::pair<std::uint64_t, std::uint64_t>> digests() const { return std::nullopt; }
};

std::unique_ptr<GoldenDriver> make_naive_driver(const GoldenSetup& setup);
std::unique_ptr<GoldenDriver> make_core_driver(const GoldenSetup& setup);

}  // namespace servetwin
