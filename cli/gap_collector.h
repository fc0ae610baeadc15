// The gaps between the tokens of each request, one by one. For the plain loop: the shortcut tells only
// counts.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "engine/serving/observer.h"

namespace servetwin {

class GapCollector final : public Observer {
 public:
  // Of every request that received a token.
  const std::map<RequestId, std::vector<Duration>>& gaps() const { return gaps_; }

  void on_routed(const RequestSpec& request, ReplicaId replica, Time now) override;
  void on_plan(const StepPlan& plan) override;
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) override;
  void on_end(const RequestRecord& record) override;

 private:
  struct Planned {
    StepId step{0};
    std::vector<RequestId> sampled;
  };

  std::vector<std::deque<Planned>> in_flight_;  // by replica
  std::map<RequestId, Time> last_token_;  // of requests with a replica that did not end; kTimeNever at first
  std::map<RequestId, std::vector<Duration>> gaps_;
};

}  // namespace servetwin
