// Counts produced tokens from plan deltas.
#include "sim/backend/stop_tracker.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {

bool StopTracker::later(const Due& a, const Due& b) {
  if (a.plan != b.plan) return a.plan > b.plan;
  return a.request > b.request;
}

void StopTracker::add(RequestId request, std::int64_t output) {
  Progress progress;
  progress.output = output;
  progress_.insert(raw(request), progress);
}

void StopTracker::remove(RequestId request) { progress_.erase(raw(request)); }

void StopTracker::schedule(RequestId request, const Progress& progress) {
  due_.push_back({due_plan(progress), request});
  std::push_heap(due_.begin(), due_.end(), &StopTracker::later);
}

void StopTracker::apply(const PlanEntry& entry) {
  Progress* progress = progress_.find(raw(entry.request));
  if (progress == nullptr) return;
  switch (entry.action) {
    case PlanAction::kAdmit:
    case PlanAction::kChunk:
      if (!entry.sampled) return;
      progress->produced += 1;
      progress->base = plan_;
      progress->decoding = true;
      break;
    case PlanAction::kHold:
      if (due_plan(*progress) < plan_) return;  // its last token is on its way
      progress->base += 1;
      progress->held_in = plan_;
      break;
    case PlanAction::kPreempt:
      preempt(*progress, progress->held_in == plan_ ? plan_ : plan_ - 1);
      return;
    case PlanAction::kSwapOut:
    case PlanAction::kSwapIn:
      return;
  }
  schedule(entry.request, *progress);
}

// `last_plan` is the last one it took part in, counted after holds.
void StopTracker::preempt(Progress& progress, std::int64_t last_plan) {
  if (!progress.decoding) return;
  progress.produced += last_plan - progress.base;
  progress.decoding = false;
}

void StopTracker::on_empty_plan(const StepPlan& plan) {
  for (const PlanEntry& entry : plan.entries) {
    Progress* progress = progress_.find(raw(entry.request));
    if (entry.action == PlanAction::kPreempt && progress != nullptr) preempt(*progress, plan_);
  }
}

void StopTracker::restart(RequestId request, std::int64_t produced) {
  Progress* progress = progress_.find(raw(request));
  if (progress == nullptr) return;
  progress->produced = produced;
  progress->decoding = false;
}

void StopTracker::on_plan(const StepPlan& plan, std::vector<RequestId>& stops) {
  ++plan_;
  for (const PlanEntry& entry : plan.entries) apply(entry);
  while (!due_.empty() && due_.front().plan <= plan_) {
    const Due due = due_.front();
    std::pop_heap(due_.begin(), due_.end(), &StopTracker::later);
    due_.pop_back();
    const Progress* progress = progress_.find(raw(due.request));
    if (progress == nullptr || !progress->decoding || due_plan(*progress) != due.plan) continue;
    // Who came back right after an empty plan took its blocks is due at the same plan as before, twice.
    if (!stops.empty() && stops.back() == due.request) continue;
    CHECK_INVARIANT(due.plan == plan_, due.plan, plan_);
    stops.push_back(due.request);
  }
}

}  // namespace servetwin
