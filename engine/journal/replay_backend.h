// A backend that reads a journal: the same stamped events, and a check of every command the core gives.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/journal/journal_reader.h"
#include "engine/serving/executor.h"

namespace servetwin {

// Replays any journal: simulated or live, any depth. When the core's commands part from the recorded ones,
// next() returns false, mismatch() says where, and no further event reaches the core.
class ReplayBackend final : public Backend {
 public:
  // `add_request` makes a request known to the core, before its Arrived.
  ReplayBackend(JournalReader& reader, std::function<void(const RequestSpec&)> add_request);

  bool next(StampedEvent& out) override;
  void start_step(const StepPlan& plan) override;
  void plan_at(ReplicaId replica, Time when) override;
  void end_request(const RequestRecord& record) override;

  // The first command that the journal does not confirm, in words.
  const std::optional<std::string>& mismatch() const { return mismatch_; }

 private:
  struct Lane {
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
  Lane& lane(ReplicaId replica);

  JournalReader& reader_;
  std::function<void(const RequestSpec&)> add_request_;
  std::vector<Lane> replicas_;
  std::optional<Expected> expected_;  // a step the journal saw started, not yet started here
  Time now_ = kTimeZero;
  std::optional<std::string> mismatch_;
};

}  // namespace servetwin
