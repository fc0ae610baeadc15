// The commands of the core and where its events come from: implemented by simulation, live engine and replay.
#pragma once

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/event.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"

namespace servetwin {

// Carries out what the core decides. Every started step is answered by exactly one StepDone.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void start_step(const StepPlan& plan) = 0;
  // A plan that runs nothing and yet changed something: its entries preempt. Planning goes on at once.
  virtual void note_empty_plan(const StepPlan& /*plan*/) {}
  // Everyone on the replica was preempted outside of any plan, and what is in flight there will be discarded.
  virtual void note_reset(ReplicaId /*replica*/) {}
  // Asks for PlanDue{replica} at `when`. The core never has two outstanding for one replica.
  virtual void plan_at(ReplicaId replica, Time when) = 0;
  // The request reached its terminal state; the backend may drop what it knows of it after this call.
  virtual void end_request(const RequestRecord& record) = 0;
};

// An executor that also supplies the next stamped event. Stamps never decrease per replica.
class Backend : public Executor {
 public:
  // False when nothing will ever happen any more.
  virtual bool next(StampedEvent& out) = 0;
};

class Cluster;

// The whole engine: next event -> core -> commands, until the backend has no more events.
void serve(Cluster& cluster, Backend& backend);

}  // namespace servetwin
