// All that one step shows of a replica: its batch, who is left out, the KV pool, and what happened since the
// step before.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "cli/held_requests.h"
#include "engine/serving/kv_extent.h"
#include "engine/serving/observer.h"
#include "engine/serving/preset.h"

namespace servetwin {

enum class RowPhase : std::uint8_t { kDecode, kPrompt, kAdmitted, kReadmitted };

const char* to_string(RowPhase phase);

// A request that the step advances; counts are those after the plan, outputs those before the step.
struct FrameRow {
  RequestId request = kNoRequest;
  RowPhase phase = RowPhase::kDecode;
  bool yields_token = false;
  Tokens tokens{};
  Tokens context{};  // computed before
  Tokens prompt{};
  Tokens outputs{};
  Blocks blocks{};
  Blocks shared{};  // of them, held by others too
};

// A request that the step leaves out.
struct FrameHeld {
  HeldRequest held;
  Tokens prompt{};
  Tokens outputs{};
};

struct FrameEvent {
  Time time = kTimeZero;
  bool alarming = false;  // KV was taken back, or a request did not end well
  std::string text;
};

struct StepFrame {
  ReplicaId replica{0};
  StepId step{0};
  Time planned = kTimeZero;
  Time ended = kTimeNever;
  std::int64_t tokens = 0;
  std::int64_t max_tokens = 0;
  std::int64_t running = 0;
  std::int64_t max_running = 0;
  std::int64_t waiting = 0;
  std::int64_t used_blocks = 0;
  std::int64_t free_blocks = 0;
  std::int64_t cached_blocks = 0;  // of those free
  std::int64_t block_size = 0;
  std::vector<FrameRow> rows;        // in running order
  std::vector<FrameHeld> held;       // running ones first, then in queue order
  std::vector<std::string> because;  // by reason: the numbers behind it
  std::vector<KvRange> blocks;  // held ones by who computed them, then free ones in the order they are taken
  std::vector<FrameEvent> events;  // since the step before, the step's own decisions last

  // What becomes of the request in this step, in a sentence; empty when it is not there.
  std::string becomes_of(RequestId request) const;
  std::size_t bytes() const;  // about
};

// Makes the frames of one replica, of plans that have all their rows.
class FrameWatch final : public Observer {
 public:
  FrameWatch(ReplicaId replica, RuleNames rules) : replica_(replica), rules_(std::move(rules)) {}

  // To be called before the run.
  void watch(const Cluster& cluster) { cluster_ = &cluster; }
  // Steps before it get no frame.
  void start_at(StepId first) { first_ = first; }

  // In order; steps in flight have not ended. Whoever holds this forgets those it needs no more.
  std::deque<StepFrame>& frames() { return frames_; }
  StepId last_step() const { return last_step_; }  // planned so far, 0 before the first
  StepId last_ended() const { return last_ended_; }

  void on_event(const StampedEvent& event) override;
  void on_routed(const RequestSpec& request, ReplicaId replica, Time now) override;
  void on_plan(const StepPlan& plan) override;
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) override;
  void on_first_token(const RequestSpec& request, Time now) override;
  void on_end(const RequestRecord& record) override;

 private:
  bool passes_over(ReplicaId replica) const;
  void note(Time time, std::string text, bool alarming = false);
  void note_entry(const StepPlan& plan, const PlanEntry& entry);
  FrameRow row_of(const StepPlan& plan, const StepRow& row) const;
  void add_held(const StepPlan& plan, StepFrame& frame) const;
  void add_blocks(StepFrame& frame) const;

  ReplicaId replica_;
  RuleNames rules_;
  const Cluster* cluster_ = nullptr;
  StepId first_{1};
  std::deque<StepFrame> frames_;
  std::vector<FrameEvent> events_;  // since the last step
  StepId last_step_{0};
  StepId last_ended_{0};
};

}  // namespace servetwin
