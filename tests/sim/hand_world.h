// A world worked by hand: every step takes 10 ms, requests end by their limit, and a test adds whatever else
// happens.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/sim_support.h"

namespace servetwin::test {

constexpr Time at_ms(std::int64_t ms) { return time_at_ns(ms * 1'000'000); }

class HandBackend final : public Backend {
 public:
  static constexpr Duration kStep = std::chrono::milliseconds(10);

  void add(Time time, const Event& event) { queue_.push({time, event, nth_++}); }

  bool next(StampedEvent& out) override {
    if (queue_.empty()) return false;
    out = queue_.pop();
    return true;
  }
  void start_step(const StepPlan& plan) override {
    Time& free = free_[raw(plan.replica)];
    free = std::max(free, plan.time) + kStep;
    add(free, StepDone{plan.replica, plan.step, 1});
  }
  void plan_at(ReplicaId replica, Time when) override { add(when, PlanDue{replica}); }
  void end_request(const RequestRecord& /*record*/) override {}

 private:
  EventQueue queue_;
  std::uint32_t nth_ = 0;
  Time free_[4] = {};
};

inline RuleSet rules_with(const char* admission) {
  RuleNames names;
  names.admission = admission;
  return make_rules(names);
}

struct HandWorld {
  explicit HandWorld(EngineConfig engine,
                     int replicas = 1,
                     const char* router = "round_robin",
                     std::int64_t max_held = 0,
                     const char* admission = "optimistic")
      : cluster({std::vector<EngineConfig>(static_cast<std::size_t>(replicas), engine), max_held},
                [&] { return rules_with(admission); },
                Registry<Router>::instance().make(router, ConfigNode{}),
                {&collect}) {}

  // Ids count from 0 in the order of the calls.
  RequestId arrive(std::int64_t ms,
                   std::int64_t prompt,
                   std::int64_t max_tokens,
                   WaitsFor waits = WaitsFor::kNothing) {
    RequestSpec spec;
    spec.id = RequestId{count++};
    spec.arrival = at_ms(ms);
    spec.prompt = Tokens{prompt};
    spec.max_tokens = Tokens{max_tokens};
    spec.waits_for = waits;
    cluster.add_request(spec);
    backend.add(spec.arrival, Arrived{spec.id});
    return spec.id;
  }
  void add(std::int64_t ms, const Event& event) { backend.add(at_ms(ms), event); }
  void serve_all() { serve(cluster, backend); }

  const RequestRecord& record(RequestId id) const {
    const auto found = std::find_if(collect.records.begin(), collect.records.end(),
                                    [&](const RequestRecord& record) { return record.id == id; });
    CHECK_INVARIANT(found != collect.records.end(), raw(id));
    return *found;
  }
  Replica& replica(std::uint16_t id = 0) { return cluster.at(ReplicaId{id}); }

  std::uint32_t count = 0;
  Collect collect;
  HandBackend backend;
  Cluster cluster;
};

inline EngineConfig small_engine(bool plain, int depth = 1) {
  EngineConfig config;
  config.plain_loop = plain;
  config.in_flight = {depth, depth > 1};
  config.max_num_seqs = 4;
  config.max_num_batched_tokens = Tokens{64};
  config.max_model_len = Tokens{200};
  config.block_size = Tokens{4};
  config.num_blocks = Blocks{65};
  return config;
}

}  // namespace servetwin::test
