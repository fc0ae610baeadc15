// Everything that can happen to the core, as small trivially copyable values with a total order.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <variant>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/request.h"

namespace servetwin {

// The alternatives stand in their order at equal stamps; EventKind is the index. Each place has its reason:

// First: an abort is applied before the outputs of the step that ends at the same stamp, as vLLM V1 does.
struct Cancelled {
  RequestId request;
  EndReason why;  // kClient, kDeadline, kQueueTimeout, kTtftTimeout
};

// Before its StepDone, so that the step's results are complete when the step closes. Sent only where the
// outcome of a row is not "one token, goes on".
struct SequenceOut {
  RequestId request;
  StepId step;
  EndState end;  // kStop or kFailed
};

// Before arrivals: results of a step are applied before new work of the same stamp is seen.
struct StepDone {
  ReplicaId replica;
  StepId step;        // the last step that ended
  std::uint32_t ran;  // how many equal decode steps ended with it (1 live and in replay)
};

// After StepDone: what was waited for may be planned with the next step.
struct Ready {
  RequestId request;
  WaitsFor what;
  bool ok;
};

enum class ReplicaState : std::uint8_t { kUp, kDraining, kDown, kFailed };

struct ReplicaChanged {
  ReplicaId replica;
  ReplicaState state;
};

// A client that stopped reading (closed) or went on (open); only with slow_reader: pause.
struct ClientWindow {
  RequestId request;
  bool open;
};

enum class AdminAction : std::uint8_t { kPause, kResume, kResetCache, kResetCacheForced, kDrain };

struct Admin {
  ReplicaId replica;
  AdminAction action;
};

// After all that can free room, so that a full queue is judged by the newest state.
struct Arrived {
  RequestId request;
};

// Last: a plan sees every other event of its stamp. Ten arrivals at one stamp make one step of ten.
struct PlanDue {
  ReplicaId replica;
};

using Event = std::
    variant<Cancelled, SequenceOut, StepDone, Ready, ReplicaChanged, ClientWindow, Admin, Arrived, PlanDue>;
static_assert(std::is_trivially_copyable_v<Event>);

enum class EventKind : std::uint8_t {
  kCancelled,
  kSequenceOut,
  kStepDone,
  kReady,
  kReplicaChanged,
  kClientWindow,
  kAdmin,
  kArrived,
  kPlanDue
};

constexpr EventKind kind_of(const Event& event) { return static_cast<EventKind>(event.index()); }

// The request or replica an event is about.
std::uint32_t subject_of(const Event& event);

// An event with its time of delivery to the core.
struct StampedEvent {
  Time time;
  Event event;
  std::uint32_t nth = 0;  // which event of that kind and subject at that stamp, from 0
};

// (time, kind, subject, nth): never a global insertion count, so shortcuts cannot change it.
inline auto order_key(const StampedEvent& e) {
  return std::tuple{e.time, kind_of(e.event), subject_of(e.event), e.nth};
}

// Stamps differ as a rule; the rest of the key is only made when they do not.
inline bool operator<(const StampedEvent& a, const StampedEvent& b) {
  return a.time != b.time ? a.time < b.time : order_key(a) < order_key(b);
}

}  // namespace servetwin
