// Which waiting requests may not enter whatever room there is.
#include "engine/serving/replica_core.h"

#include <optional>

#include "engine/base/check.h"

namespace servetwin {
namespace {

std::optional<HeldReason> what_blocks(const RequestState& state) {
  if (state.phase != Phase::kWaiting) return std::nullopt;
  if (state.waits_for != WaitsFor::kNothing) return HeldReason::kBlocked;
  if (state.window_closed) return HeldReason::kClientWindow;
  if (state.in_flight > 0) return HeldReason::kInFlight;  // preempted while its step was running
  return std::nullopt;
}

}  // namespace

void ReplicaCore::know_rules() {
  for (RuleListener* listener : {rules.waiting_order->listener(), rules.admission->listener()}) {
    if (listener == nullptr) continue;
    listeners.push_back(listener);
    if (listener->every_token()) config.plain_loop = true;
  }
  changing_order = rules.waiting_order->changing();
  yields = rules.yield != nullptr && rules.yield->may();
  if (windows.any()) {
    CHECK_INVARIANT(rules.batch->composition() != Composition::kPrefillAlone);
    CHECK_INVARIANT(rules.step == nullptr || !rules.step->plain_loop());
    CHECK_INVARIANT(!rules.batch->whole_sequence_blocks() && config.host_blocks.value == 0);
    config.plain_loop = true;
  }
  CHECK_INVARIANT(!yields || rules.batch->composition() != Composition::kPrefillAlone);
  if (yields || config.priced_window.value > 0) config.plain_loop = true;
}

void ReplicaCore::release_blocks(const RequestState& state) {
  held_sum -= held(state);
  completion_sum -= completion(state).value;
  if (windows.any()) {
    windows.release(kv(), state.owner);
  } else {
    kv().release(state.owner);
  }
}

void ReplicaCore::classify(Slot slot) {
  RequestState& state = table[slot];
  const std::optional<HeldReason> reason = what_blocks(state);
  if (reason == state.blocked_as) return;
  if (state.blocked_as.has_value()) --blocked[static_cast<std::size_t>(*state.blocked_as)];
  if (reason.has_value()) ++blocked[static_cast<std::size_t>(*reason)];
  state.blocked_as = reason;
}

}  // namespace servetwin
