// Names of the reasons why a request did not advance, as files and reports spell them.
#include "engine/serving/plan.h"

namespace servetwin {

const char* to_string(HeldReason reason) {
  switch (reason) {
    case HeldReason::kSeqsCap:
      return "seqs_cap";
    case HeldReason::kTokenBudget:
      return "token_budget";
    case HeldReason::kKvGate:
      return "kv_gate";
    case HeldReason::kWatermark:
      return "watermark";
    case HeldReason::kKvAllocation:
      return "kv_allocation";
    case HeldReason::kHeadOfLine:
      return "head_of_line";
    case HeldReason::kPreempted:
      return "preempted";
    case HeldReason::kBlocked:
      return "blocked";
    case HeldReason::kClientWindow:
      return "client_window";
    case HeldReason::kInFlight:
      return "in_flight";
    case HeldReason::kPaused:
      return "paused";
    case HeldReason::kPhase:
      return "phase";
  }
  return "?";
}

}  // namespace servetwin
