// Builds one step: running requests, then admissions, or as the batch rule composes it, with the rules asked
// at each choice. Other forms of steps derive from it and use its parts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/time.h"
#include "engine/serving/replica_core.h"

namespace servetwin {

// Owns the loop: allocation, preempt-and-retry, refund, cursor, gates, invariants. Semantics: vLLM V1's
// scheduler.
class StepBuilder {
 public:
  explicit StepBuilder(ReplicaCore& replica)
      : r_(replica),
        table_(replica.table),
        composition_(replica.rules.batch->composition()),
        tables_(replica.windows.tables()),
        whole_blocks_(replica.rules.batch->whole_sequence_blocks()) {}
  virtual ~StepBuilder() = default;

  // Plans the next step into replica.plan; false when nothing can run now. `now` is the time of the PlanDue.
  virtual bool build(Time now);
  // The same plan as build() would make where the last one was steady, of pooled decoders alone, and nothing
  // happened since. Tells no observer.
  void repeat_decode(Time now);
  bool preempted() const { return preempted_; }
  // Running requests that the last plan passed over, and why; of those it preempted later, nothing holds.
  const std::vector<std::pair<Slot, HeldReason>>& holds() const { return holds_; }
  // Takes a running request's KV back, for `cause`; it waits again, in front. Also used by a forced cache
  // reset.
  void preempt(std::size_t index, RequestId cause);
  // Makes the request's full blocks findable as far as their content is known.
  void publish(RequestState& state);

 protected:
  enum class Part : std::uint8_t { kAll, kDecoders, kPrompts };

  void unpark_all();
  void open(Time now);
  bool close();
  void record_step();
  void pooled_decode();
  void publish_shared_growth();
  bool pooled_step_fits() const;
  void schedule_running(Part part);
  bool belongs(Slot slot, Part part) const;
  bool schedule_one(std::size_t& index);
  bool schedule_tokens(std::size_t& index, std::int64_t tokens);
  void decode_stretch(std::size_t& index);
  bool make_room(std::size_t& index, std::int64_t need);
  std::size_t pick_victim();
  void retract();
  void note_pressure();
  std::int64_t decode_steps() const { return static_cast<std::int64_t>(raw(r_.last_step)) - prompt_steps_; }
  void refund(Slot slot);
  void swap_out(RequestState& state);
  void yield_to_waiting();
  std::size_t pick_yielding(Slot head, const WaitingView& view);
  bool lacks_room(Slot slot);
  void swap_in(RequestState& state, std::int64_t hit);
  std::optional<HeldReason> cannot_run(const RequestState& state) const;
  std::int64_t chunk_of(const RequestState& state) const;
  std::int64_t blocks_needed(const RequestState& state, std::int64_t tokens) const;
  void take_blocks(RequestState& state, std::int64_t tokens);
  void pass_blocks(const RequestState& state);
  void grow(RequestState& state, std::int64_t tokens);
  void add_row(Slot slot, RequestState& state, std::int64_t tokens, bool decode);
  void add_shape(const RequestState& state, std::int64_t tokens, std::int64_t context, bool decode, int sign);
  void hold(Slot slot, HeldReason reason);

  void admit_waiting();
  void look_at_waiting();
  bool set_aside_blocked(WaitingQueue& queue, Slot slot);
  bool may_skip(Slot slot, HeldReason reason) const;
  void put_back_set_aside();
  std::optional<HeldReason> scan_waiting();
  void prefill_alone();
  std::optional<HeldReason> prefill();
  void hold_decoders();
  WaitingQueue* next_queue();
  std::optional<HeldReason> try_admit(WaitingQueue& queue, Slot slot);
  std::int64_t look_up(RequestState& state);
  static std::int64_t entry_context(const RequestState& state, std::int64_t hit);
  std::optional<HeldReason> refuse(const RequestState& state, std::int64_t hit, std::int64_t end) const;
  void admit(Slot slot, std::int64_t hit, std::int64_t chunk);
  void count_waiting(std::optional<HeldReason> refusal);
  void note_head(Slot slot);
  void note_admission(RequestState& state, std::int64_t hit);

  ReplicaCore& r_;
  RequestTable& table_;
  const Composition composition_;
  const std::int64_t tables_;  // of each request
  bool whole_blocks_;
  std::int64_t budget_ = 0;
  bool preempted_ = false;
  Tokens longest_{};            // chunk admitted by this plan
  std::vector<KvExtent> hits_;  // of the request that is looked at
  std::vector<Slot> set_aside_;
  std::vector<std::pair<Slot, HeldReason>> holds_;  // of this plan
  std::vector<Slot> victims_;                       // of this plan: they count as preempted in it
  std::vector<RunningView> views_;
  std::vector<Slot> passed_;  // refused in this plan, which went on to those behind
  std::vector<WaitingView> yielding_;
  std::vector<std::size_t> yielding_index_;  // in the running list
  std::int64_t promised_now_ = 0;            // blocks, to those that entered in this plan
  PhaseView phase_;                          // its history
  PressureHistory pressure_;
  std::int64_t prompt_steps_ = 0;  // steps with prompts; all others are decoders alone
  std::int64_t prompts_at_ = 0;    // decode_steps() at the last step of prompts alone
  std::int64_t pressure_at_ = 0;   // decode_steps() where pressure_ begins
};

}  // namespace servetwin
