// Finding the request in each plan: as a row, among the preempted, or among those held back.
#include "cli/request_story.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/preemption_reason.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

constexpr std::size_t kNamesShown = 8;

std::string names(const std::vector<RequestId>& requests) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < requests.size() && i < kNamesShown; ++i) {
    shown.push_back(std::to_string(raw(requests[i])));
  }
  const std::string more =
      requests.size() > kNamesShown ? fmt::format(" and {} more", requests.size() - kNamesShown) : "";
  return join(shown, ", ") + more;
}

const char* kind_of(const HeldRequest& held) { return held.running ? "running but held" : "waiting"; }

}  // namespace

void RequestStory::on_arrived(const RequestSpec& request, Time /*now*/) {
  if (request.id == request_) spec_ = request;
}

void RequestStory::on_routed(const RequestSpec& request, ReplicaId replica, Time now) {
  if (request.id != request_) return;
  replica_ = replica;
  routed_ = now;
}

void RequestStory::on_end(const RequestRecord& record) {
  if (record.id == request_) record_ = record;
}

void RequestStory::on_plan(const StepPlan& plan) {
  if (plan.replica != replica_ || record_) return;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    if (plan.entries[i].request != request_ || plan.entries[i].action != PlanAction::kPreempt) continue;
    note_preemption(plan, i);
    return;
  }
  if (plan.shape.tokens > 0) note_step(plan);
}

void RequestStory::note_preemption(const StepPlan& plan, std::size_t entry) {
  const bool swapped = entry > 0 && plan.entries[entry - 1].request == request_ &&
                       plan.entries[entry - 1].action == PlanAction::kSwapOut;
  const std::int64_t tokens = plan.entries[swapped ? entry - 1 : entry].tokens.value;
  const std::string detail = swapped ? fmt::format("KV of {} tokens copied to the host", tokens)
                                     : fmt::format("{} computed tokens lost", tokens);
  add(plan, "preempted", why_preempted(plan, plan.entries[entry], rules_) + ", " + detail, false);
}

void RequestStory::note_step(const StepPlan& plan) {
  for (const StepRow& row : plan.rows) {
    if (row.request == request_) return note_row(plan, row);
  }
  const std::vector<HeldRequest> held = held_requests(*cluster_, plan);
  const auto self = std::find_if(held.begin(), held.end(),
                                 [this](const HeldRequest& one) { return one.request == request_; });
  if (self == held.end()) return;
  if (ahead_.empty() && !self->running) note_ahead(plan, held);
  note_held(plan, *self);
}

void RequestStory::note_row(const StepPlan& plan, const StepRow& row) {
  for (const PlanEntry& entry : plan.entries) {
    if (entry.request != request_ || entry.action == PlanAction::kSwapIn) continue;
    const bool admitted = entry.action == PlanAction::kAdmit;
    std::string detail = fmt::format("{} tokens after {}", row.tokens.value, row.context.value);
    if (admitted) detail += fmt::format(", {} from the prefix cache", entry.hit.value);
    detail += blocks(plan);
    if (row.sampled) detail += ", yields a token";
    const char* what = !admitted ? "scheduled, a chunk" : entry.resumed ? "readmitted" : "admitted";
    add(plan, what, detail, true).tokens += row.tokens.value;
    return;
  }
  const std::string detail = fmt::format("1 token after {}{}", row.context.value, blocks(plan));
  add(plan, "scheduled, decoding", detail, true).tokens += row.tokens.value;
}

// What it holds after the plan.
std::string RequestStory::blocks(const StepPlan& plan) const {
  const ReplicaCore& core = cluster_->at(plan.replica).state();
  const Slot slot = core.table.find(request_);
  if (slot == kNoSlot) return "";
  const RequestState& state = core.table[slot];
  return fmt::format(", {} blocks held", state.phase == Phase::kRunning ? core.held(state) : std::int64_t{0});
}

void RequestStory::note_held(const StepPlan& plan, const HeldRequest& self) {
  const EngineConfig& config = cluster_->at(plan.replica).state().config;
  const std::string words = in_words(self);
  const std::string why = because(self.reason, plan, config);
  if (step_ == plan.step) at_step_ = words + (why.empty() ? "" : ": " + why);
  StoryStretch* last = stretches_.empty() ? nullptr : &stretches_.back();
  const std::string kind = kind_of(self);
  if (last == nullptr || last->reasons.empty() || last->what.rfind(kind, 0) != 0) {
    last = &add(plan, words, why, false);
  } else if (last->what != words) {
    last->what = kind;
  }
  last->last = plan.step;
  const std::string reason = words.substr(kind.size() + 2);
  const auto known = std::find_if(last->reasons.begin(), last->reasons.end(),
                                  [&](const auto& one) { return one.first == reason; });
  if (known == last->reasons.end()) {
    last->reasons.emplace_back(reason, 1);
  } else {
    ++known->second;
  }
}

void RequestStory::note_ahead(const StepPlan& plan, const std::vector<HeldRequest>& held) {
  std::vector<RequestId> running;
  for (const StepRow& row : plan.rows) running.push_back(row.request);
  std::vector<RequestId> waiting;
  for (const HeldRequest& one : held) {
    if (one.request == request_) break;
    (one.running ? running : waiting).push_back(one.request);
  }
  ahead_ = fmt::format("queued behind {} running ({})", running.size(), names(running));
  if (!waiting.empty()) ahead_ += fmt::format(" and {} waiting ({})", waiting.size(), names(waiting));
}

// `goes_on`: if the last stretch was the same, it becomes longer.
StoryStretch& RequestStory::add(const StepPlan& plan,
                                const std::string& what,
                                const std::string& detail,
                                bool goes_on) {
  if (step_ == plan.step) at_step_ = what + (detail.empty() ? "" : ": " + detail);
  if (!goes_on || stretches_.empty() || stretches_.back().what != what)
    stretches_.push_back({plan.step, plan.step, plan.time, what, detail, 0, {}});
  stretches_.back().last = plan.step;
  return stretches_.back();
}

}  // namespace servetwin
