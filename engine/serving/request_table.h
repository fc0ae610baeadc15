// Requests in flight by slot: immutable data the backend filled in, and what the core keeps beside it. Slots
// are recycled, so memory grows with requests in flight, not with requests served.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/flat_map.h"
#include "engine/serving/content.h"
#include "engine/serving/kv_group.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"

namespace servetwin {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = 0xffffffffU;

enum class Phase : std::uint8_t { kReceived, kTokenising, kHeld, kWaiting, kRunning };

struct RequestState {
  RequestSpec spec;
  RequestRecord record;  // complete when the request ends
  Phase phase = Phase::kReceived;
  WaitsFor waits_for = WaitsFor::kNothing;
  bool window_closed = false;            // its client does not read
  bool decoding = false;                 // past its prompt: one token a step
  bool parked = false;                   // its progress is derived by the DecodePool
  bool growth_shared = false;            // others may look up the text it generates
  std::optional<HeldReason> blocked_as;  // while waiting: why it may not enter, whatever room there is
  bool set_aside = false;                // waits in the queue of the blocked
  bool heads_queue = false;
  bool stopping = false;  // SequenceOut announced its end for `stopping_step`
  EndState stopping_as = EndState::kStop;
  std::int16_t in_flight = 0;     // steps of it that have not come back
  std::int16_t placeholders = 0;  // outputs scheduled but not known (asynchronous scheduling)
  std::uint32_t lives = 0;        // admissions so far
  std::int64_t limit = 0;         // outputs at most: max_tokens clipped to the context
  std::int64_t computed = 0;      // tokens whose KV is or is being computed
  std::int64_t lost = 0;          // computed tokens lost by the last preemption
  std::int64_t place = 0;         // in its queue
  std::uint64_t admission = 0;    // running order
  StepId stopping_step{0};
  Time preempted_at = kTimeNever;
  Duration head_of_line_mark{0};  // the replica's head-of-line integral when it began to wait behind the head

  OwnerSlot owner = kNoOwner;
  std::int32_t own_first = 0;  // blocks before it are hits
  std::int32_t held = 0;       // blocks in its table
  std::int32_t published = 0;  // blocks made findable
  std::vector<KvExtent> hits;
  std::vector<ContentRun> runs;  // empty without prefix caching

  // While parked: where it stood when it was, and its place in the ring of length ends.
  std::uint64_t park_clock = 0;
  Slot ring_prev = kNoSlot;
  Slot ring_next = kNoSlot;
  std::uint32_t pool_index = 0;

  // Prompt and outputs known so far.
  std::int64_t known() const { return spec.prompt.value + record.outputs.value; }
};

class RequestTable {
 public:
  // Must come before the request's Arrived. An id may not be in the table twice.
  Slot add(const RequestSpec& spec) {
    Slot slot;
    if (spare_.empty()) {
      slot = static_cast<Slot>(states_.size());
      states_.emplace_back();
    } else {
      slot = spare_.back();
      spare_.pop_back();
    }
    const bool is_new = slot_of_.insert(raw(spec.id), slot).second;
    CHECK_INVARIANT(is_new, raw(spec.id));
    reset(states_[slot], spec);
    return slot;
  }

  // kNoSlot when it ended or never was.
  Slot find(RequestId id) const {
    const Slot* found = slot_of_.find(raw(id));
    return found == nullptr ? kNoSlot : *found;
  }

  RequestState& operator[](Slot slot) { return states_[slot]; }
  const RequestState& operator[](Slot slot) const { return states_[slot]; }

  void remove(Slot slot) {
    slot_of_.erase(raw(states_[slot].spec.id));
    states_[slot].spec.id = kNoRequest;
    spare_.push_back(slot);
  }

  std::size_t size() const { return slot_of_.size(); }
  // Slots ever used at once: an upper bound for walks in reports of a stalled run.
  std::size_t capacity() const { return states_.size(); }

 private:
  static void reset(RequestState& state, const RequestSpec& spec);

  std::vector<RequestState> states_;
  std::vector<Slot> spare_;
  FlatMap<std::uint32_t, Slot> slot_of_;
};

}  // namespace servetwin
