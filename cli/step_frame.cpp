// A frame is taken when its step is planned; when that step ended is filled in later.
#include "cli/step_frame.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/preemption_reason.h"
#include "engine/base/check.h"

namespace servetwin {
namespace {

const char* words_of(AdminAction action) {
  switch (action) {
    case AdminAction::kPause:
      return "the replica is paused";
    case AdminAction::kResume:
      return "the replica goes on";
    case AdminAction::kResetCache:
      return "the prefix cache is asked to forget";
    case AdminAction::kResetCacheForced:
      return "everybody is preempted, and the prefix cache forgets";
    case AdminAction::kDrain:
      return "the replica drains";
  }
  return "?";
}

}  // namespace

const char* to_string(RowPhase phase) {
  switch (phase) {
    case RowPhase::kDecode:
      return "decode";
    case RowPhase::kPrompt:
      return "prompt";
    case RowPhase::kAdmitted:
      return "admitted";
    case RowPhase::kReadmitted:
      return "readmitted";
  }
  return "?";
}

std::string StepFrame::becomes_of(RequestId request) const {
  for (const FrameRow& row : rows) {
    if (row.request != request) continue;
    return fmt::format("{}, {} token{} after {}, {} blocks held, {} tokens of output so far{}",
                       to_string(row.phase), row.tokens.value, row.tokens.value == 1 ? "" : "s",
                       row.context.value, row.blocks.value, row.outputs.value,
                       row.yields_token ? ", yields a token" : "");
  }
  for (const FrameHeld& one : held) {
    if (one.held.request != request) continue;
    const std::string& why = because[static_cast<std::size_t>(one.held.reason)];
    return in_words(one.held) + (why.empty() ? "" : ": " + why);
  }
  return "";
}

std::size_t StepFrame::bytes() const {
  std::size_t size = sizeof(StepFrame) + rows.capacity() * sizeof(FrameRow) +
                     held.capacity() * sizeof(FrameHeld) + blocks.capacity() * sizeof(KvRange);
  for (const FrameEvent& event : events) size += sizeof(FrameEvent) + event.text.capacity();
  return size;
}

// Steps that get no frame are passed as fast as they can be.
bool FrameWatch::passes_over(ReplicaId replica) const {
  return replica != replica_ || next(last_step_) < first_;
}

void FrameWatch::note(Time time, std::string text, bool alarming) {
  events_.push_back({time, alarming, std::move(text)});
}

void FrameWatch::on_event(const StampedEvent& event) {
  if (const auto* admin = std::get_if<Admin>(&event.event)) {
    if (!passes_over(admin->replica)) note(event.time, words_of(admin->action), true);
  } else if (const auto* window = std::get_if<ClientWindow>(&event.event)) {
    const Slot slot = cluster_->requests().find(window->request);
    if (slot == kNoSlot || passes_over(cluster_->requests()[slot].replica)) return;
    note(event.time, fmt::format("the client of request {} {}", raw(window->request),
                                 window->open ? "reads again" : "does not read"));
  }
}

void FrameWatch::on_routed(const RequestSpec& request, ReplicaId replica, Time now) {
  if (passes_over(replica)) return;
  note(now, fmt::format("request {} joins the queue: prompt {}, at most {} tokens", raw(request.id),
                        request.prompt.value, request.max_tokens.value));
}

void FrameWatch::on_first_token(const RequestSpec& request, Time now) {
  if (passes_over(cluster_->requests()[cluster_->requests().find(request.id)].replica)) return;
  note(now, fmt::format("request {}: first token, {:.3f} s after it arrived", raw(request.id),
                        to_seconds(now - request.arrival)));
}

void FrameWatch::on_end(const RequestRecord& record) {
  if (passes_over(record.replica)) return;
  std::string text = fmt::format("request {} ended: {}", raw(record.id), to_string(record.end_state));
  if (record.end_reason != EndReason::kNone) text += fmt::format(" ({})", to_string(record.end_reason));
  note(record.end, text + fmt::format(", {} tokens", record.outputs.value), !is_finished(record.end_state));
}

void FrameWatch::note_entry(const StepPlan& plan, const PlanEntry& entry) {
  const std::uint32_t request = raw(entry.request);
  switch (entry.action) {
    case PlanAction::kAdmit:
      note(plan.time, fmt::format("request {} {}, {} tokens from the prefix cache", request,
                                  entry.resumed ? "readmitted" : "admitted", entry.hit.value));
      break;
    case PlanAction::kPreempt:
      note(plan.time,
           fmt::format("request {} preempted: {}, {} computed tokens lost", request,
                       why_preempted(plan, entry, rules_), entry.tokens.value),
           true);
      break;
    case PlanAction::kSwapOut:
    case PlanAction::kSwapIn:
      note(plan.time, fmt::format("request {}: KV of {} tokens copied {}", request, entry.tokens.value,
                                  entry.action == PlanAction::kSwapOut ? "to the host" : "back"));
      break;
    case PlanAction::kChunk:
    case PlanAction::kHold:
      break;
  }
}

FrameRow FrameWatch::row_of(const StepPlan& plan, const StepRow& row) const {
  const RequestState& state = cluster_->requests()[row.slot];
  FrameRow shown;
  shown.request = row.request;
  shown.yields_token = row.sampled;
  shown.tokens = row.tokens;
  shown.context = row.context;
  shown.prompt = state.spec.prompt;
  shown.outputs = Tokens{state.outputs};
  const ReplicaCore& replica = cluster_->at(replica_).state();
  shown.blocks = Blocks{replica.held(state)};
  shown.shared = shown.blocks - replica.held_alone(state);
  for (const PlanEntry& entry : plan.entries) {
    if (entry.request != row.request) continue;
    if (entry.action == PlanAction::kChunk) shown.phase = RowPhase::kPrompt;
    if (entry.action == PlanAction::kAdmit)
      shown.phase = entry.resumed ? RowPhase::kReadmitted : RowPhase::kAdmitted;
  }
  return shown;
}

void FrameWatch::add_held(const StepPlan& plan, StepFrame& frame) const {
  const EngineConfig& config = cluster_->at(replica_).state().config;
  frame.because.resize(kNumHeldReasons);
  for (const HeldRequest& held : held_requests(*cluster_, plan)) {
    const RequestState& state = cluster_->requests()[cluster_->requests().find(held.request)];
    frame.held.push_back({held, state.spec.prompt, Tokens{state.outputs}});
    std::string& because_of = frame.because[static_cast<std::size_t>(held.reason)];
    if (because_of.empty()) because_of = because(held.reason, plan, config);
  }
}

void FrameWatch::add_blocks(StepFrame& frame) const {
  frame.blocks = cluster_->at(replica_).state().kv().ranges();
  const auto first_free = std::find_if(frame.blocks.begin(), frame.blocks.end(),
                                       [](const KvRange& range) { return range.refs == 0; });
  std::stable_sort(frame.blocks.begin(), first_free,
                   [](const KvRange& a, const KvRange& b) { return a.request < b.request; });
  for (auto range = first_free; range != frame.blocks.end(); ++range)
    frame.cached_blocks += range->cached ? range->size() : 0;
}

void FrameWatch::on_plan(const StepPlan& plan) {
  if (plan.replica != replica_) return;
  const bool shown = !passes_over(replica_);
  if (shown) {
    for (const PlanEntry& entry : plan.entries) note_entry(plan, entry);
  }
  if (plan.shape.tokens == 0) return;  // what it preempted is told with the next step
  last_step_ = plan.step;
  if (!shown) return;
  CHECK_INVARIANT(plan.all_rows, raw(plan.step));
  const EngineConfig& config = cluster_->at(replica_).state().config;
  StepFrame frame;
  frame.replica = plan.replica;
  frame.step = plan.step;
  frame.planned = plan.time;
  frame.tokens = plan.shape.tokens;
  frame.max_tokens = config.max_num_batched_tokens.value;
  frame.running = plan.running;
  frame.max_running = config.max_num_seqs;
  frame.waiting = plan.waiting;
  frame.used_blocks = plan.used_blocks.value;
  frame.free_blocks = plan.free_blocks.value;
  frame.block_size = config.block_size.value;
  for (const StepRow& row : plan.rows) frame.rows.push_back(row_of(plan, row));
  add_held(plan, frame);
  add_blocks(frame);
  frame.events = std::exchange(events_, {});
  frames_.push_back(std::move(frame));
}

void FrameWatch::on_step_done(
    ReplicaId replica, StepId step, const StepShape& /*shape*/, Time /*planned*/, Time end) {
  if (replica != replica_) return;
  last_ended_ = step;
  if (frames_.empty() || step < frames_.front().step) return;
  frames_[raw(step) - raw(frames_.front().step)].ended = end;
}

}  // namespace servetwin
