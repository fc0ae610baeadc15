// A backend that reads a journal: the same core, the same stamped events, and a check of every command it gives.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/journal/journal_reader.h"
#include "engine/serving/executor.h"

namespace servetwin {

// Where the rows of requests go, each before its Arrived.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  virtual void add(const RequestSpec& request) = 0;
};

// Replays any journal: simulated or live, any depth. When the core's commands part from the recorded ones, next()
// returns false, mismatch() says where, and no further event reaches the core.
class ReplayBackend final : public Backend {
 public:
  ReplayBackend(JournalReader& reader, RequestSink& requests);

  bool next(StampedEvent& out) override;
  void start_step(const StepPlan& plan) override;
  void plan_at(ReplicaId replica, Time when) override;
  void end_request(const RequestRecord& record) override;

  // The first command that the journal does not confirm, in words.
  const std::optional<std::string>& mismatch() const { return mismatch_; }

 private:
  struct ReplicaState {
    std::deque<StepId> in_flight;
    std::optional<Time> asked;  // an outstanding plan_at
  };

  // What a delivered PlanDue must lead to before the next event.
  struct Expected {
    ReplicaId replica = kNoReplica;
    StepId step{0};
  };

  // Both return false after noting a mismatch.
  bool confirms_last_plan();
  bool accepts(const JournalEvent& event);
  bool part(Time time, ReplicaId replica, const std::string& what);
  ReplicaState& state(ReplicaId replica);

  JournalReader& reader_;
  RequestSink& requests_;
  std::vector<ReplicaState> replicas_;
  std::optional<Expected> expected_;  // a step the journal saw started, not yet started here
  Time now_ = kTimeZero;
  std::optional<std::string> mismatch_;
};

}  // namespace servetwin
