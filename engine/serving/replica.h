// One replica of the decision core: its queues, its KV cache and the steps it plans.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/serving/event.h"
#include "engine/serving/replica_core.h"
#include "engine/serving/router.h"
#include "engine/serving/step_builder.h"

namespace servetwin {

// Told when a request of the replica reaches its end; the replica has let go of it by then.
class EndSink {
 public:
  virtual ~EndSink() = default;
  virtual void on_replica_end(Slot slot, EndState state, EndReason reason, Time now) = 0;
};

class Replica {
 public:
  Replica(ReplicaId id,
          const EngineConfig& config,
          RuleSet&& rules,
          RequestTable& table,
          const std::vector<Observer*>& observers,
          EndSink& ends);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Why a prompt can never be served here, if so.
  static EndReason refuses(const RequestSpec& spec, const EngineConfig& config);
  void enqueue(Slot slot);
  // Leaves the prompt's blocks in the prefix cache as if it had been served and had ended before the run.
  // False when the cache is off or the prompt cannot be held.
  bool warm(const RequestSpec& spec);
  // Something the request waited for has come.
  void unblock(Slot slot);
  // The request goes away from wherever it is, with all it holds, and ends like that.
  void leave(Slot slot, EndState as);
  // The running step will end this request.
  void announce_end(Slot slot, StepId step, EndState as);
  void step_done(StepId step, Time now);
  void set_window(Slot slot, bool open);
  // True when a step was planned and must be started; plan() holds it.
  bool plan_step(Time now);
  const StepPlan& plan() const { return s_.plan; }
  // Whether the last plan took KV back from somebody.
  bool plan_preempted() const { return builder_->preempted(); }
  // See StepBuilder::holds().
  const std::vector<std::pair<Slot, HeldReason>>& holds() const { return builder_->holds(); }
  bool may_plan() const { return static_cast<int>(s_.in_flight.size()) < s_.config.in_flight.depth; }
  bool idle() const { return s_.in_flight.empty(); }
  bool has_work() const { return s_.num_running() + s_.num_waiting() > 0; }

  // Whether the step in flight will end without any change of membership, and the next plan is then certain
  // to be the same again, one token for every decoder. Only then advance() may be called: it ends the step at
  // `end` and plans.
  bool can_advance() const;
  const StepPlan& advance(Time end);
  // can_advance() right after an advance(), nothing having happened in between.
  bool can_go_on() const {
    return !s_.pool.may_end() && s_.pool.demand() + s_.spare_blocks <= s_.kv().free().value;
  }
  // Something happened that the last plan did not see: the next may differ.
  void disturb() { s_.steady = false; }

  void pause(bool paused) { s_.paused = paused; }
  // Forgets cached content; forced: everyone is preempted first and steps in flight are discarded. Whether it
  // did.
  bool reset_cache(bool forced, Time now);
  ReplicaView view() const;
  const ReplicaCore& state() const { return s_; }
  KvGroup& kv() { return s_.kv(); }

 private:
  void count_pool_gaps(bool pooled);
  void tell_pool_gaps(Time now);
  void tell_outputs(const std::vector<StepRow>& rows, Time now);
  void deliver(const std::vector<StepRow>& rows, Time now);
  [[gnu::noinline]] void deliver_row(const StepRow& row, Time now);
  void tell_gap(const RequestState& state, Time now);
  void finish_announced_and_due(bool pooled, Time now);
  void finish(Slot slot, EndState as, EndReason reason, Time now);
  void let_go(Slot slot);
  void park_decoders(Time now);
  void unpark(Slot slot, bool in_flight);
  bool in_step(const RequestState& state) const;
  bool grows_as_another(const RequestState& state) const;
  void preempt_all(Time now);

  ReplicaCore s_;
  std::unique_ptr<StepBuilder> builder_;
  EndSink& ends_;
  Time previous_end_ = kTimeNever;
  StepId delivering_{0};
  std::array<std::int64_t, kMaxStatGroups> regular_gaps_{};
  int groups_seen_ = 0;  // one past the highest stat group so far
  std::vector<Slot> ending_;
  std::vector<StepRow> spare_rows_;  // storage for the rows of the next step
};

}  // namespace servetwin
