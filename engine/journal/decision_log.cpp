// The wording is the format: tests hold it, and `diff` prints it.
#include "engine/journal/decision_log.h"

#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace servetwin {
namespace {

void append_entry(std::string& text, const PlanEntry& entry) {
  const auto out = std::back_inserter(text);
  const auto request = raw(entry.request);
  switch (entry.action) {
    case PlanAction::kChunk:
      fmt::format_to(out, "; chunk of request {}: {} tokens after {}", request, entry.tokens.value,
                     entry.context.value);
      break;
    case PlanAction::kAdmit:
      fmt::format_to(out, "; {} request {}: {} tokens after {}, {} from the prefix cache",
                     entry.resumed ? "readmit" : "admit", request, entry.tokens.value, entry.context.value,
                     entry.hit.value);
      break;
    case PlanAction::kHold:
      fmt::format_to(out, "; hold request {}", request);
      return;
    case PlanAction::kPreempt:
      fmt::format_to(out, "; preempt request {}, {} tokens lost", request, entry.tokens.value);
      return;
    case PlanAction::kSwapOut:
      fmt::format_to(out, "; swap out request {}: {} tokens", request, entry.tokens.value);
      return;
    case PlanAction::kSwapIn:
      fmt::format_to(out, "; swap in request {}: {} tokens after {}", request, entry.tokens.value,
                     entry.context.value);
      return;
  }
  if (entry.sampled) text += ", sampled";
}

std::string end_text(const RequestRecord& record) {
  std::string text = fmt::format("request {} ended: {}", raw(record.id), to_string(record.end_state));
  if (record.end_reason != EndReason::kNone) text += fmt::format(" ({})", to_string(record.end_reason));
  return text + fmt::format(" after {} tokens", record.outputs.value);
}

}  // namespace

bool DecisionLog::take(DecisionRecord& out) {
  if (records_.empty()) return false;
  out = std::move(records_.front());
  records_.pop_front();
  return true;
}

void DecisionLog::finish() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& at = lanes_[i];
    if (at.pending.empty()) continue;
    records_.push_back({static_cast<ReplicaId>(i), next(at.last_step), at.pending_time,
                        kNoStep + std::exchange(at.pending, {})});
  }
}

void DecisionLog::on_routed(const RequestSpec& request, ReplicaId replica, Time now) {
  put_cluster_decision(now, fmt::format("request {} to replica {}", raw(request.id), raw(replica)));
}

void DecisionLog::on_plan(const StepPlan& plan) {
  Lane& at = lane(plan.replica);
  for (const PlanEntry& entry : plan.entries) append_entry(at.pending, entry);
  at.pending_time = plan.time;
  // A plan that starts no step may still preempt; that is told with the next step.
  if (plan.shape.tokens == 0) return;
  std::string text = fmt::format("{} decode over {} tokens of context", plan.shape.decode_sequences,
                                 plan.shape.decode_context);
  text += std::exchange(at.pending, {});
  records_.push_back({plan.replica, plan.step, plan.time, std::move(text)});
  at.last_step = plan.step;
}

void DecisionLog::on_end(const RequestRecord& record) {
  if (record.replica == kNoReplica) return put_cluster_decision(record.end, end_text(record));
  Lane& at = lane(record.replica);
  at.pending += "; " + end_text(record);
  at.pending_time = record.end;
}

DecisionLog::Lane& DecisionLog::lane(ReplicaId replica) {
  if (raw(replica) >= lanes_.size()) lanes_.resize(std::size_t{raw(replica)} + 1);
  return lanes_[raw(replica)];
}

void DecisionLog::put_cluster_decision(Time now, std::string text) {
  last_decision_ = next(last_decision_);
  records_.push_back({kNoReplica, last_decision_, now, std::move(text)});
}

}  // namespace servetwin
