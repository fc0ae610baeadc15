// Who is held is what the step builder left behind; why the waiting wait follows its scan backwards.
// backwards.
#include "cli/held_requests.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "engine/base/check.h"

namespace servetwin {
namespace {

using Counts = std::array<std::int64_t, kNumHeldReasons>;

std::int64_t& count_of(Counts& counts, HeldReason reason) { return counts[static_cast<std::size_t>(reason)]; }

std::set<RequestId> requests_with(const StepPlan& plan, PlanAction action) {
  std::set<RequestId> found;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action == action) found.insert(entry.request);
  }
  return found;
}

// Whoever runs and has no row, as the plan's loop left it.
std::vector<HeldRequest> held_running(const Cluster& cluster, const StepPlan& plan) {
  std::vector<HeldRequest> held;
  for (const auto& [slot, reason] : cluster.at(plan.replica).holds()) {
    const RequestState& state = cluster.requests()[slot];
    if (state.phase == Phase::kRunning) held.push_back({state.spec.id, true, reason});
  }
  return held;
}

// Those that wait on the plan's replica, in the order of its rule.
std::vector<Slot> waiting_on(const Cluster& cluster, const StepPlan& plan) {
  const RequestTable& table = cluster.requests();
  std::vector<Slot> waiting;
  for (Slot slot = 0; slot < table.capacity(); ++slot) {
    const RequestState& state = table[slot];
    const bool here = state.spec.id != kNoRequest && state.replica == plan.replica;
    if (here && state.phase == Phase::kWaiting) waiting.push_back(slot);
  }
  const WaitingOrder& order = *cluster.at(plan.replica).state().rules.waiting_order;
  std::stable_sort(waiting.begin(), waiting.end(), [&](Slot a, Slot b) {
    return order.before(view_of(table[a], table[a].queued.place, plan.time),
                        view_of(table[b], table[b].queued.place, plan.time));
  });
  return waiting;
}

void add_waiting(const Cluster& cluster, const StepPlan& plan, Counts left, std::vector<HeldRequest>& held) {
  const ReplicaCore& core = cluster.at(plan.replica).state();
  const std::set<RequestId> victims = requests_with(plan, PlanAction::kPreempt);
  std::vector<std::size_t> refused;  // those that the scan would have admitted, had it not ended
  for (const Slot slot : waiting_on(cluster, plan)) {
    const RequestState& state = cluster.requests()[slot];
    const bool victim = victims.count(state.spec.id) > 0;
    if (!victim && !state.blocked_as) refused.push_back(held.size());
    const HeldReason reason =
        victim ? HeldReason::kPreempted : state.blocked_as.value_or(HeldReason::kBlocked);
    held.push_back({state.spec.id, false, reason});
    if (victim || state.blocked_as) --count_of(left, reason);
  }
  if (refused.empty()) return;
  if (core.kv_refused) count_of(left, HeldReason::kHeadOfLine) = 0;
  const auto reason = std::find_if(left.begin(), left.end(), [](std::int64_t count) { return count > 0; });
  CHECK_INVARIANT(reason != left.end(), raw(plan.step));
  for (const std::size_t index : refused) {
    const bool is_head = !core.kv_refused || held[index].request == core.queue_head_id;
    held[index].reason = is_head ? static_cast<HeldReason>(reason - left.begin()) : HeldReason::kHeadOfLine;
  }
}

const char* words_of(HeldReason reason) {
  switch (reason) {
    case HeldReason::kSeqsCap:
      return "max_num_seqs";
    case HeldReason::kTokenBudget:
      return "token budget";
    case HeldReason::kKvGate:
      return "KV memory for its whole sequence";
    case HeldReason::kWatermark:
      return "KV watermark";
    case HeldReason::kKvAllocation:
      return "KV blocks";
    case HeldReason::kHeadOfLine:
      return "behind a head that KV memory holds back";
    case HeldReason::kPreempted:
      return "preemption in this step";
    case HeldReason::kBlocked:
      return "something outside the engine";
    case HeldReason::kClientWindow:
      return "its client does not read";
    case HeldReason::kInFlight:
      return "its last step is still in flight";
    case HeldReason::kPaused:
      return "the replica is paused";
    case HeldReason::kPhase:
      return "a step of the others' phase";
  }
  return "?";
}

std::string largest_rows(const StepPlan& plan) {
  std::vector<StepRow> rows = plan.rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const StepRow& a, const StepRow& b) { return a.tokens > b.tokens; });
  if (rows.empty()) return "nobody has any of it";
  return fmt::format("{} of {} tokens go to request {}", rows[0].tokens.value, plan.shape.tokens,
                     raw(rows[0].request));
}

}  // namespace

std::vector<HeldRequest> held_requests(const Cluster& cluster, const StepPlan& plan) {
  std::vector<HeldRequest> held = held_running(cluster, plan);
  Counts left = plan.held;
  for (const HeldRequest& one : held) --count_of(left, one.reason);
  add_waiting(cluster, plan, left, held);
  Counts counts{};
  for (const HeldRequest& one : held) ++count_of(counts, one.reason);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    CHECK_INVARIANT(counts[i] == plan.held[i], to_string(static_cast<HeldReason>(i)), counts[i], plan.held[i],
                    raw(plan.step));
  }
  return held;
}

std::string in_words(const HeldRequest& held) {
  return fmt::format("{}, {}", held.running ? "running but held" : "waiting", words_of(held.reason));
}

std::string because(HeldReason reason, const StepPlan& plan, const EngineConfig& config) {
  switch (reason) {
    case HeldReason::kSeqsCap:
      return fmt::format("{} requests run, and max_num_seqs is {}", plan.running, config.max_num_seqs);
    case HeldReason::kTokenBudget:
      return fmt::format("{}, and max_num_batched_tokens is {}", largest_rows(plan),
                         config.max_num_batched_tokens.value);
    case HeldReason::kKvGate:
    case HeldReason::kWatermark:
    case HeldReason::kKvAllocation:
    case HeldReason::kHeadOfLine:
    case HeldReason::kPreempted:
      return fmt::format("{} of {} KV blocks are free", plan.free_blocks.value,
                         plan.free_blocks.value + plan.used_blocks.value);
    case HeldReason::kBlocked:
    case HeldReason::kClientWindow:
    case HeldReason::kInFlight:
    case HeldReason::kPaused:
    case HeldReason::kPhase:
      break;
  }
  return "";
}

}  // namespace servetwin
