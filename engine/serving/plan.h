// What one step does, as a delta in execution order: every other decoder advances by one token.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/kv_extent.h"
#include "engine/serving/shape.h"

namespace servetwin {

// Where the request table keeps a request; used again by another after it ended.
using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = 0xffffffffU;

enum class PlanAction : std::uint8_t {
  kChunk,    // a running request computes part of its prompt (or of what it must recompute)
  kAdmit,    // a waiting request enters, computing its first chunk
  kHold,     // a running decoder that does not advance in this step
  kPreempt,  // a running request loses its KV and goes back to waiting
  kSwapOut,  // before its kPreempt: its KV is copied to the host
  kSwapIn,   // before its kAdmit: it is copied back
};

struct PlanEntry {
  PlanAction action = PlanAction::kChunk;
  RequestId request = kNoRequest;
  Tokens tokens{};   // kChunk, kAdmit: query length. kPreempt: computed tokens lost. Swaps: tokens copied
  Tokens context{};  // kChunk, kAdmit: tokens computed before. kSwapIn: tokens that need no copy, being a hit
  Tokens hit{};      // kAdmit: prefix hit
  bool sampled = false;  // the last token of the row yields an output
  bool resumed = false;  // kAdmit: after a preemption
  // kPreempt: for whose allocation; its own if it found no room itself, none where room is made ahead for
  // all. Explains and decides nothing: digests leave it out.
  RequestId cause = kNoRequest;
};

static_assert(sizeof(PlanEntry) <= 40);

// Why requests did not advance in a plan. Every request of the replica that is not advanced counts under one
// reason.
enum class HeldReason : std::uint8_t {
  kSeqsCap,       // max_num_seqs reached
  kTokenBudget,   // max_num_batched_tokens used up (or a prompt too large for what is left, chunking off)
  kKvGate,        // the whole sequence would not fit (full-sequence gate or reservation)
  kWatermark,     // blocks are kept free for those that run
  kKvAllocation,  // the chunk's blocks are not there
  kHeadOfLine,    // behind a head that was refused for KV
  kPreempted,     // somebody was preempted in this step, so nobody enters
  kBlocked,       // waits for grammar, adapter, remote KV or input
  kClientWindow,  // its client does not read
  kInFlight,      // its last step has not come back
  kPaused,        // the replica admits nobody (paused or draining)
  kPhase,         // the step belongs to the others: to prompts, or to decoders
};

inline constexpr int kNumHeldReasons = 12;

const char* to_string(HeldReason reason);

// One row of a step, for executors that need rows.
struct StepRow {
  RequestId request = kNoRequest;
  Tokens tokens{};   // query length
  Tokens context{};  // tokens computed before
  bool sampled = false;
  Slot slot = kNoSlot;  // the core's own; another request may have it when the step comes back
};

// The blocks of a kSwapOut, in order of the sequence, for executors that copy. They have been given back by
// the end of the plan, but nobody enters in a plan that preempts: who owned what is still known.
struct SwapOut {
  RequestId request = kNoRequest;
  std::vector<KvExtent> blocks;
};

struct StepPlan {
  ReplicaId replica{0};
  StepId step{0};
  Time time = kTimeZero;  // when it was planned
  StepShape shape;
  std::vector<PlanEntry> entries;  // in execution order
  std::vector<SwapOut> swap_outs;
  std::vector<StepRow> rows;  // in running order; the decoders that advance together are left out
  bool all_rows = false;      // rows holds every row (the plain loop)
  std::array<std::int64_t, kNumHeldReasons> held{};  // requests not advanced, by reason
  std::int64_t running = 0;                          // after the plan
  std::int64_t waiting = 0;                          // after the plan, blocked ones included
  Blocks used_blocks{};                              // after the plan
  Blocks free_blocks{};
};

}  // namespace servetwin
