// Calls of the core made by hand, for tests of what watches it.
#pragma once

#include "engine/base/time.h"
#include "engine/metrics/slo.h"
#include "engine/serving/observer.h"

namespace servetwin {

constexpr Time ms_time(std::int64_t ms) { return time_at_ns(ms * 1'000'000); }

constexpr Duration ms_span(std::int64_t ms) { return Duration{ms * 1'000'000}; }

inline RequestSpec spec_of(std::uint32_t id, std::int64_t arrival_ms, std::int64_t prompt = 100) {
  RequestSpec spec;
  spec.id = RequestId{id};
  spec.arrival = ms_time(arrival_ms);
  spec.prompt = Tokens{prompt};
  spec.max_tokens = Tokens{64};
  return spec;
}

// A request that was scheduled at once, got its tokens from `first_ms` to `last_ms` and ended with the last.
inline RequestRecord finished(const RequestSpec& spec,
                              std::int64_t first_ms,
                              std::int64_t last_ms,
                              std::int64_t outputs) {
  RequestRecord record;
  record.id = spec.id;
  record.replica = ReplicaId{0};
  record.traffic_class = spec.traffic_class;
  record.stat_group = spec.stat_group;
  record.end_state = EndState::kLength;
  record.prompt = spec.prompt;
  record.max_tokens = spec.max_tokens;
  record.outputs = Tokens{outputs};
  record.arrival = record.ready = record.first_scheduled = spec.arrival;
  record.first_token = ms_time(first_ms);
  record.last_token = record.end = ms_time(last_ms);
  return record;
}

// A request that was turned away when it came.
inline RequestRecord rejected(const RequestSpec& spec) {
  RequestRecord record;
  record.id = spec.id;
  record.traffic_class = spec.traffic_class;
  record.stat_group = spec.stat_group;
  record.end_state = EndState::kRejected;
  record.end_reason = EndReason::kPromptTooLong;
  record.prompt = spec.prompt;
  record.max_tokens = spec.max_tokens;
  record.arrival = record.ready = record.end = spec.arrival;
  return record;
}

inline StepPlan plan_at(std::int64_t ms, std::int64_t running, std::int64_t waiting, std::int64_t used) {
  StepPlan plan;
  plan.step = StepId{1};
  plan.time = ms_time(ms);
  plan.running = running;
  plan.waiting = waiting;
  plan.used_blocks = Blocks{used};
  plan.free_blocks = Blocks{100 - used};
  return plan;
}

inline StepShape shape_of(std::int64_t decodes, std::int64_t prefill_tokens) {
  StepShape shape;
  shape.tokens = decodes + prefill_tokens;
  shape.decode_sequences = decodes;
  shape.prefill_tokens = prefill_tokens;
  shape.prefill_sequences = prefill_tokens > 0 ? 1 : 0;
  shape.sequences = decodes + shape.prefill_sequences;
  return shape;
}

inline void arrive(Observer& observer, const RequestSpec& spec) {
  observer.on_arrived(spec, spec.arrival);
  observer.on_routed(spec, ReplicaId{0}, spec.arrival);
}

// Three requests on one replica. The first arrives at 0, computes its prompt in a step of 100 ms and gets
// five tokens with gaps of 40, 40, 80 and 40 ms; the second arrives at 60 ms, is held by the KV gate from 100
// to 260 ms and gets one token at 300 ms; the third is turned away at 310 ms.
inline void play_small_run(Observer& o) {
  const RequestSpec a = spec_of(0, 0);
  const RequestSpec b = spec_of(1, 60, 50);
  const RequestSpec c = spec_of(2, 310, 9000);
  const ReplicaId replica{0};
  arrive(o, a);
  o.on_plan(plan_at(0, 1, 0, 10));
  arrive(o, b);
  o.on_step_done(replica, StepId{1}, shape_of(0, 100), ms_time(0), ms_time(100));
  o.on_first_token(a, ms_time(100));
  std::int64_t now = 100;
  std::uint64_t step = 2;
  for (const std::int64_t gap : {40, 40, 80}) {
    StepPlan plan = plan_at(now, 1, 1, 12);
    plan.held[static_cast<std::size_t>(HeldReason::kKvGate)] = 1;
    o.on_plan(plan);
    o.on_step_done(replica, StepId{step++}, shape_of(1, 0), ms_time(now), ms_time(now + gap));
    now += gap;
    o.on_gaps(replica, 0, ms_span(gap), 1, ms_time(now), kNoRequest);
  }
  o.on_plan(plan_at(260, 2, 0, 20));
  o.on_step_done(replica, StepId{step}, shape_of(1, 50), ms_time(260), ms_time(300));
  o.on_gaps(replica, 0, ms_span(40), 1, ms_time(300), kNoRequest);
  o.on_first_token(b, ms_time(300));
  o.on_end(finished(a, 100, 300, 5));
  RequestRecord end_of_b = finished(b, 300, 300, 1);
  end_of_b.first_scheduled = ms_time(260);
  end_of_b.cached = Tokens{16};
  o.on_end(end_of_b);
  o.on_arrived(c, c.arrival);
  o.on_end(rejected(c));
}

}  // namespace servetwin
