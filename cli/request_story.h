// What the steps of a run did with one request, step by step, put together into a story.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/held_requests.h"
#include "engine/serving/observer.h"
#include "engine/serving/preset.h"

namespace servetwin {

// Steps in which the same was done with the request; in one in which it waits, for whatever reasons.
struct StoryStretch {
  StepId first{0};
  StepId last{0};
  Time begin = kTimeZero;  // when the first was planned
  std::string what;
  std::string detail;  // of the first
  std::int64_t tokens = 0;
  std::vector<std::pair<std::string, std::int64_t>> reasons;  // of waiting, each with its steps
};

// Watches a run whose every step has all its rows.
class RequestStory final : public Observer {
 public:
  // `step`: what became of it there is noted too. `rules` are those of the run.
  RequestStory(RequestId request, std::optional<StepId> step, RuleNames rules)
      : request_(request), step_(step), rules_(std::move(rules)) {}

  // To be called before the run.
  void watch(const Cluster& cluster) { cluster_ = &cluster; }

  const std::optional<RequestSpec>& spec() const { return spec_; }
  ReplicaId replica() const { return replica_; }
  Time routed() const { return routed_; }
  const std::vector<StoryStretch>& stretches() const { return stretches_; }
  const std::optional<RequestRecord>& record() const { return record_; }
  // Behind whom it waited when it was first seen waiting, in a sentence.
  const std::string& ahead() const { return ahead_; }
  // What became of it in the step asked for; empty when it was not there.
  const std::string& at_step() const { return at_step_; }

  void on_arrived(const RequestSpec& request, Time now) override;
  void on_routed(const RequestSpec& request, ReplicaId replica, Time now) override;
  void on_plan(const StepPlan& plan) override;
  void on_end(const RequestRecord& record) override;

 private:
  void note_preemption(const StepPlan& plan, std::size_t entry);
  void note_step(const StepPlan& plan);
  void note_row(const StepPlan& plan, const StepRow& row);
  void note_held(const StepPlan& plan, const HeldRequest& self);
  void note_ahead(const StepPlan& plan, const std::vector<HeldRequest>& held);
  std::string blocks(const StepPlan& plan) const;
  StoryStretch& add(const StepPlan& plan, const std::string& what, const std::string& detail, bool goes_on);

  RequestId request_;
  std::optional<StepId> step_;
  RuleNames rules_;
  const Cluster* cluster_ = nullptr;
  std::optional<RequestSpec> spec_;
  ReplicaId replica_ = kNoReplica;
  Time routed_ = kTimeNever;
  std::vector<StoryStretch> stretches_;
  std::string ahead_;
  std::string at_step_;
  std::optional<RequestRecord> record_;
};

}  // namespace servetwin
