// Who watches the core: metrics, journal, explain. Observers never change anything.
#pragma once

#include <array>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/event.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"

namespace servetwin {

// A step of the pool of decoders that ended, at `plan.time`, without any change of membership, and was
// planned again at once.
struct DecodeStep {
  const StepPlan& plan;  // the new one: no entries, no rows
  StepId ended{0};
  const StepShape& shape;  // of the step that ended
  Time planned = kTimeZero;
  Duration gap{};                                            // between the decoders' last two tokens
  const std::array<std::int64_t, kMaxStatGroups>& decoders;  // by stat group
  int num_groups = 0;                                        // those from here on have none
};

// All times are those of the events being handled. Calls come in the order things happen on a replica; two
// replicas may be interleaved out of time order by a shortcut, so nothing may be summed across replicas per
// call order.
class Observer {
 public:
  virtual ~Observer() = default;

  // An event is about to be handled. With the decode shortcut inner steps come only as on_step_done and
  // on_plan.
  virtual void on_event(const StampedEvent& /*event*/) {}
  virtual void on_arrived(const RequestSpec& /*request*/, Time /*now*/) {}
  virtual void on_routed(const RequestSpec& /*request*/, ReplicaId /*replica*/, Time /*now*/) {}
  // A step was planned. Valid only during the call. Steps that follow without change come as on_decode_step,
  // which ends here too unless overridden: entries empty, shape and counts right.
  virtual void on_plan(const StepPlan& /*plan*/) {}
  // The step planned at `planned` ended at `end`.
  virtual void on_step_done(
      ReplicaId /*replica*/, StepId /*step*/, const StepShape& /*shape*/, Time /*planned*/, Time /*end*/) {}
  // `count` requests of one stat group received a token `gap` after their previous one, at `end`. With `one`
  // being kNoRequest these are all decoders of the group that advance with every step of this replica,
  // counted together; otherwise it is that single request (count 1), which had missed steps: it was held
  // (kHold) or preempted before.
  virtual void on_gaps(ReplicaId /*replica*/,
                       int /*stat_group*/,
                       Duration /*gap*/,
                       std::int64_t /*count*/,
                       Time /*end*/,
                       RequestId /*one*/) {}
  // on_step_done, on_gaps and on_plan of such a step in one; who overrides it must do the same work.
  virtual void on_decode_step(const DecodeStep& step);
  virtual void on_first_token(const RequestSpec& /*request*/, Time /*now*/) {}
  virtual void on_end(const RequestRecord& /*record*/) {}
};

}  // namespace servetwin
