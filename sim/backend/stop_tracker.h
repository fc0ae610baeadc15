// Knows when a request that stops by itself produces its last token, without looking at it every step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/ids.h"
#include "engine/serving/plan.h"

namespace servetwin {

// Follows one replica's plans by their deltas: every decoder that is not mentioned produces one token a plan.
class StopTracker {
 public:
  // A request of this replica that stops after `output` tokens. Told before its first plan.
  void add(RequestId request, std::int64_t output);
  void remove(RequestId request);
  // The next plan of the replica. Those whose last token it produces are appended to `stops`, in order of id.
  void on_plan(const StepPlan& plan, std::vector<RequestId>& stops);
  // The same for a plan without entries after which nobody stops: false, and nothing done, when that is not
  // certain.
  bool skip_plan() {
    if (!due_.empty() && due_.front().plan <= plan_ + 1) return false;
    ++plan_;
    return true;
  }
  // It was preempted outside of any plan, with `produced` tokens; what was in flight of it is discarded.
  void restart(RequestId request, std::int64_t produced);
  // A plan that ran nothing: only its preemptions count.
  void on_empty_plan(const StepPlan& plan);

 private:
  struct Progress {
    std::int64_t output = 0;
    std::int64_t produced = 0;  // tokens after plan `base`
    std::int64_t base = 0;
    std::int64_t held_in = -1;  // the last plan that held it
    bool decoding = false;
  };
  struct Due {
    std::int64_t plan = 0;
    RequestId request = kNoRequest;
  };

  static bool later(const Due& a, const Due& b);
  void schedule(RequestId request, const Progress& progress);
  void apply(const PlanEntry& entry);
  static void preempt(Progress& progress, std::int64_t last_plan);
  std::int64_t due_plan(const Progress& progress) const {
    return progress.base + progress.output - progress.produced;
  }

  std::int64_t plan_ = 0;  // number of the last plan
  FlatMap<std::uint32_t, Progress> progress_;
  std::vector<Due> due_;  // a heap, earliest first; entries whose request moved on are skipped
};

}  // namespace servetwin
