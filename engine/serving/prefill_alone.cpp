// Steps of one phase: prompts alone as long as any can go, else decoders alone (vLLM V0, SGLang, TGI).
#include "engine/serving/step_builder.h"

namespace servetwin {

void StepBuilder::prefill_alone() {
  std::optional<HeldReason> refusal = HeldReason::kPaused;
  set_aside_.clear();
  if (!r_.paused) {
    phase_.running = r_.num_running();
    refusal = prefill();
    if (r_.plan.shape.tokens > 0) {
      hold_decoders();
      phase_.merged = phase_.running > 0;
      prompts_at_ = decode_steps();
    } else {
      if (r_.shortcut_allowed() && r_.running.empty() && pooled_step_fits()) {
        pooled_decode();
        publish_shared_growth();
      } else {
        unpark_all();
        retract();
        schedule_running(Part::kDecoders);
      }
      phase_.merged = false;
    }
  }
  if (preempted_) {
    refusal = HeldReason::kPreempted;
    r_.kv_refused = false;
  }
  count_waiting(refusal);
}

// Those that have begun, then the waiting, if the rule lets them. What decoders wrote in earlier steps is
// findable for them.
std::optional<HeldReason> StepBuilder::prefill() {
  publish_shared_growth();
  for (const Slot slot : r_.running) {
    if (table_[slot].decoding) continue;
    unpark_all();
    schedule_running(Part::kPrompts);
    break;
  }
  phase_.waiting = r_.num_waiting();
  phase_.decodes = decode_steps() - prompts_at_;
  if (!r_.rules.batch->prefill_now(phase_)) return HeldReason::kPhase;
  return scan_waiting();
}

// Rows stand in running order, so one walk finds who has none.
void StepBuilder::hold_decoders() {
  unpark_all();
  std::size_t row = 0;
  for (const Slot slot : r_.running) {
    if (row < r_.plan.rows.size() && r_.plan.rows[row].slot == slot) {
      ++row;
    } else if (table_[slot].decoding) {
      hold(slot, cannot_run(table_[slot]).value_or(HeldReason::kPhase));
    }
  }
}

}  // namespace servetwin
