// The decision core as a whole: events in, commands out. It reads no clock, does no I/O and knows no output
// in advance.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/digest.h"
#include "engine/serving/executor.h"
#include "engine/serving/replica.h"
#include "engine/serving/router.h"

namespace servetwin {

struct ClusterConfig {
  std::vector<EngineConfig> replicas;
  std::int64_t max_held = 0;  // requests that wait for routing at most, 0: no bound
};

// Who waits for what in a run that can make no progress.
struct StalledRequest {
  RequestId request = kNoRequest;
  ReplicaId replica = kNoReplica;
  bool running = false;
  Blocks needs{};  // that its next step takes from the pool
  Blocks free{};
  Blocks holds{};
  std::string why;
};

class Cluster final : public EndSink {
 public:
  // `make_rules` gives each replica rules of its own. Observers are told in order and must outlive the
  // cluster.
  Cluster(const ClusterConfig& config,
          const std::function<RuleSet()>& make_rules,
          std::unique_ptr<Router> router,
          std::vector<Observer*> observers);
  ~Cluster() override;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Makes a request known. Must come before its Arrived. The slot is its own until it ends.
  Slot add_request(const RequestSpec& spec) { return table_.add(spec); }
  // Before the first event: the prompt was served earlier and its blocks may still be found. Prompts go to
  // the replicas in turn.
  bool warm(const RequestSpec& spec) { return replicas_[num_warmed_++ % replicas_.size()]->warm(spec); }
  // Applies one event. Stamps never decrease per replica. An event about a request that ended changes
  // nothing.
  void handle(const StampedEvent& event, Executor& executor);

  // The decode shortcut, for backends that know when the next other event comes: see Replica::can_advance.
  bool can_advance(ReplicaId replica) const {
    return held_.empty() && !plan_due(replica) && at(replica).can_advance();
  }
  const StepPlan& advance(ReplicaId replica, Time end) { return at(replica).advance(end); }

  std::size_t num_replicas() const { return replicas_.size(); }
  const Replica& at(ReplicaId replica) const { return *replicas_[raw(replica)]; }
  Replica& at(ReplicaId replica) { return *replicas_[raw(replica)]; }
  // Requests that have arrived, or were made known, and have not ended.
  std::size_t unfinished() const { return table_.size(); }
  const RequestTable& requests() const { return table_; }
  // When nothing will happen any more and requests are left: who they are and what they wait for, at most
  // `most`.
  std::vector<StalledRequest> stalled(std::size_t most) const;

  // 64 bits over all decisions, without and with their times, folded over replicas in order of id.
  std::uint64_t decisions_digest() const;
  std::uint64_t timeline_digest() const;
  std::uint64_t num_events() const { return num_events_; }

  void on_replica_end(Slot slot, EndState state, EndReason reason, Time now) override;

 private:
  struct Handler;

  void arrive(Slot slot, Time now);
  void route_or_hold(Slot slot, Time now);
  bool try_route(Slot slot, Time now);
  void route_held(Time now);
  void cancel(Slot slot, EndReason why, Time now);
  void end(Slot slot, EndState state, EndReason reason, Time now);
  void post_plan(ReplicaId replica, Time now);
  void plan(ReplicaId replica, Time now);
  bool plan_due(ReplicaId replica) const { return plan_due_[raw(replica)] != 0; }

  RequestTable table_;
  std::vector<Observer*> observers_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<EngineConfig> configs_;
  std::vector<char> plan_due_;  // a PlanDue is outstanding
  std::vector<ReplicaState> status_;
  std::unique_ptr<Router> router_;
  std::vector<ReplicaView> views_;
  std::deque<RequestId> held_;  // waits for a router that says nothing; ended ones are skipped
  std::int64_t max_held_ = 0;
  Executor* executor_ = nullptr;  // during handle()
  std::size_t num_warmed_ = 0;
  Digest routing_;
  std::uint64_t num_events_ = 0;
};

}  // namespace servetwin
