// What the core decided, one record a step, as text that people read and programs compare.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/serving/observer.h"

namespace servetwin {

// A step of a replica with the ends since the step before it, or (kNoReplica, numbered from 1) one decision
// of the cluster: where a request was routed or that it ended before that. Clauses are separated by "; ". The
// text holds neither time nor block ids: two runs that decide alike have equal records.
struct DecisionRecord {
  ReplicaId replica = kNoReplica;
  StepId step{0};
  Time time = kTimeZero;
  std::string text{};
};

// How the text of what came after a replica's last step begins.
inline constexpr const char* kNoStep = "no step";

// Anything that gives records, those of one replica in order.
class DecisionSource {
 public:
  virtual ~DecisionSource() = default;
  virtual bool next(DecisionRecord& out) = 0;
};

// Watches a core and keeps the records until they are taken.
class DecisionLog final : public Observer {
 public:
  // False when no record waits.
  bool take(DecisionRecord& out);
  // The run is over: what came after a replica's last step makes a record of its own, numbered as the step to
  // come.
  void finish();

  void on_routed(const RequestSpec& request, ReplicaId replica, Time now) override;
  void on_plan(const StepPlan& plan) override;
  void on_end(const RequestRecord& record) override;

 private:
  struct Lane {
    StepId last_step{0};
    std::string pending{};  // decided since the last step, each clause with its separator before it
    Time pending_time = kTimeZero;
  };

  Lane& lane(ReplicaId replica);
  void put_cluster_decision(Time now, std::string text);

  std::deque<DecisionRecord> records_;
  std::vector<Lane> lanes_;
  StepId last_decision_{0};
};

}  // namespace servetwin
