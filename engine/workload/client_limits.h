// How long clients wait, for every backend that plays them: which limits there are, and when one was met.
#pragma once

#include <array>
#include <utility>

#include "engine/serving/event.h"
#include "engine/serving/request_table.h"
#include "engine/workload/source.h"

namespace servetwin {

// Each time after arrival at which the client does something, and why; negative: never.
inline std::array<std::pair<Duration, EndReason>, 4> client_limits(const RequestTruth& truth) {
  return {{{truth.cancel_after, EndReason::kClient},
           {truth.deadline, EndReason::kDeadline},
           {truth.queue_timeout, EndReason::kQueueTimeout},
           {truth.ttft_timeout, EndReason::kTtftTimeout}}};
}

// Limits that were met are no events, nor are those of requests that ended.
inline bool still_due(const Cancelled& limit, const RequestTable& requests) {
  const Slot slot = requests.find(limit.request);
  if (slot == kNoSlot) return false;
  const RequestState& request = requests[slot];
  if (limit.why == EndReason::kQueueTimeout) return request.first_scheduled == kTimeNever;
  if (limit.why == EndReason::kTtftTimeout) return request.first_token == kTimeNever;
  return true;
}

}  // namespace servetwin
