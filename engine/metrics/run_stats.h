// What is added up for one group of requests and for one replica.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/metrics/attribution.h"
#include "engine/metrics/slo.h"
#include "engine/metrics/statistics.h"
#include "engine/serving/request.h"

namespace servetwin {

inline constexpr int kNumEndReasons = static_cast<int>(EndReason::kBackend) + 1;

// What is known of the requests of one stat group. Latencies and tokens are those of finished requests only.
struct GroupStats {
  explicit GroupStats(std::size_t exact_limit = Samples::kExactLimit);

  void merge(const GroupStats& other);

  std::int64_t arrived = 0;
  std::array<std::int64_t, kNumEndStates> ended{};
  std::array<std::int64_t, kNumEndReasons> reasons{};
  std::int64_t good = 0;
  SloMisses misses{};
  Tokens good_outputs{};
  Tokens prompts{};
  Tokens outputs{};
  Tokens all_outputs{};       // of requests that did not finish too
  Tokens admitted_prompts{};  // of requests that were ever scheduled
  Tokens cached{};            // prefix hits among those
  Tokens recomputed{};
  Tokens waste_at_end{};
  Tokens held_at_end{};
  std::int64_t preemptions = 0;
  // Nanoseconds; definitions in docs/metrics.md.
  Samples ttft, tpot, itl, e2e, queue, preempted, front_end, head_of_line, prefill, decode, inference;
  // Tokens.
  Samples waste, prompt_lengths, output_lengths;
};

// What is known of one replica. Integrals are in unit times nanoseconds up to the last plan or settle.
struct ReplicaStats {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t sequences = 0;
  std::int64_t pure_decode_steps = 0;
  std::int64_t graph_steps = 0;
  std::int64_t padding_tokens = 0;
  std::int64_t busy_ns = 0;  // time with at least one step under way
  std::int64_t preemptions = 0;
  std::int64_t swap_out_blocks = 0;
  std::int64_t swap_in_blocks = 0;
  std::int64_t peak_used_blocks = 0;
  std::int64_t capacity_blocks = 0;  // used and free together, without the null block
  Int128 used_block_ns = 0;
  Int128 running_ns = 0;
  Int128 waiting_ns = 0;
  std::array<std::int64_t, 20>
      steps_by_tokens{};  // index: bits of (tokens - 1), so up to 1, 2, 4, 8, ... tokens
  HeldTime held;

  // State between the calls.
  Time plan_time = kTimeZero;
  Time step_end = kTimeZero;
  std::int64_t used = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t in_system = 0;  // routed here and not ended
};

}  // namespace servetwin
