// A request in flight: immutable data the backend filled in, and what the core keeps beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/serving/content.h"
#include "engine/serving/kv_extent.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"

namespace servetwin {

enum class Phase : std::uint8_t { kReceived, kTokenising, kHeld, kWaiting, kRunning };

// A count of tokens or blocks below 2^31 in four bytes; computes in eight. What a request may hold is bounded
// by the context, which Replica checks to be below.
class SmallCount {
 public:
  constexpr SmallCount() = default;
  constexpr SmallCount& operator=(std::int64_t value) {
    value_ = static_cast<std::int32_t>(value);
    return *this;
  }
  constexpr operator std::int64_t() const { return value_; }
  constexpr SmallCount& operator+=(std::int64_t more) { return *this = value_ + more; }
  constexpr SmallCount& operator-=(std::int64_t less) { return *this = value_ - less; }
  constexpr SmallCount& operator++() { return *this += 1; }

 private:
  std::int32_t value_ = 0;
};

// While it waits.
struct QueuePlace {
  std::int64_t place;
  Time preempted_at;
  Duration head_of_line_mark;  // the replica's head-of-line integral when it began to wait behind the head
};

// While it is parked: the clock when it was brought up to date, and its place in the ring of length ends.
struct PoolPlace {
  std::uint64_t clock;
  Slot ring_prev;
  Slot ring_next;
  std::uint32_t index;
};

// Four cache lines, of which each step of a running request needs the first two.
struct alignas(64) RequestState {
  RequestSpec spec;
  SmallCount computed;            // tokens whose KV is or is being computed
  SmallCount outputs;             // tokens produced
  SmallCount limit;               // outputs at most: max_tokens clipped to the context
  SmallCount held;                // blocks in its table
  SmallCount published;           // blocks made findable
  std::int16_t in_flight = 0;     // steps of it that have not come back
  std::int16_t placeholders = 0;  // outputs scheduled but not known (asynchronous scheduling)
  Phase phase = Phase::kReceived;
  bool decoding = false;       // past its prompt: one token a step
  bool parked = false;         // its progress is derived by the DecodePool
  bool window_closed = false;  // its client does not read
  bool stopping = false;       // SequenceOut announced its end for `stopping_step`
  EndState stopping_as = EndState::kStop;
  bool growth_shared = false;  // others may look up the text it generates
  bool set_aside = false;      // waits in the queue of the blocked
  Time last_token = kTimeNever;
  Time first_token = kTimeNever;

  StepId stopping_step{0};
  OwnerSlot owner = kNoOwner;
  SmallCount own_first;         // blocks before it are hits
  std::uint32_t lives = 0;      // admissions so far
  std::uint32_t admission = 0;  // running order
  WaitsFor waits_for = WaitsFor::kNothing;
  bool heads_queue = false;
  bool swapped = false;                  // while waiting: the KV of `lost` tokens is in the host tier
  std::optional<HeldReason> blocked_as;  // while waiting: why it may not enter, whatever room there is
  ReplicaId replica = kNoReplica;
  SmallCount cached;            // prefix hit at the first admission
  SmallCount lost;              // computed tokens lost, or swapped out, by the last preemption
  std::int64_t recomputed = 0;  // tokens computed again after preemptions
  Time ready = kTimeNever;      // tokenised and handed to routing
  Time first_scheduled = kTimeNever;
  Duration preempted{};     // total time between a preemption and the next admission
  Duration head_of_line{};  // waiting behind a head that was refused for KV
  union {
    QueuePlace queued{0, kTimeNever, Duration{0}};  // in phase kWaiting
    PoolPlace pooled;                               // while parked
  };
  std::vector<ContentRun> runs;  // empty without prefix caching

  // Prompt and outputs known so far.
  std::int64_t known() const { return spec.prompt.value + outputs; }
};

static_assert(sizeof(RequestState) <= 256);

}  // namespace servetwin
