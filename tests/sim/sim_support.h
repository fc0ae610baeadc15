// A small world for core tests: fixed request lists, a linear cost, and everything that can be compared after
// a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "costmodels/cost_model.h"
#include "engine/base/registry.h"
#include "engine/base/rng.h"
#include "engine/serving/cluster.h"
#include "engine/serving/preset.h"
#include "sim/backend/sim_backend.h"

namespace servetwin::test {

// Gives a list of requests in order of arrival.
class ListSource final : public RequestSource {
 public:
  explicit ListSource(std::vector<WorkloadItem> items) : items_(std::move(items)) {}
  Time next_arrival() override { return next_ < items_.size() ? items_[next_].spec.arrival : kTimeNever; }
  void take(WorkloadItem& item) override { item = items_[next_++]; }
  bool reacts_to_ends() const override { return false; }
  std::string describe() const override { return "list"; }
  SourceFacts facts() const override { return {}; }

 private:
  std::vector<WorkloadItem> items_;
  std::size_t next_ = 0;
};

// base + per token + per context, in nanoseconds.
class TestCost final : public CostModel {
 public:
  double base = 6.5e6;
  double per_token = 25e3;
  double per_context = 48.9;

  Duration step_time(const StepInput& input) const override {
    const ContextLine line = line_of(*input.shape);
    const double context =
        static_cast<double>(input.shape->decode_context + input.shape->prefill_q_context / 1000);
    return duration_from_ns(line.base_ns + line.slope_ns * context);
  }
  StepCost step(const StepInput& input) const override {
    StepCost cost;
    cost.total = step_time(input);
    return cost;
  }
  std::optional<ContextLine> decode_line(const StepShape& shape) const override { return line_of(shape); }
  Evidence evidence() const override { return Evidence::kAnalytic; }
  std::uint64_t profile_hash() const override { return 1; }
  std::string describe() const override { return "test"; }

 private:
  ContextLine line_of(const StepShape& shape) const {
    return {base + per_token * static_cast<double>(shape.tokens), per_context};
  }
};

// Keeps every request's record and sums that must not depend on how the run was computed.
class Collect : public Observer {
 public:
  std::vector<RequestRecord> records;
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  std::int64_t preemptions = 0;
  __extension__ using Wide = __int128;
  Wide gap_time = 0;
  std::int64_t gap_count = 0;

  void on_plan(const StepPlan& plan) override {
    if (plan.shape.tokens == 0) return;
    tokens += plan.shape.tokens;
    for (const PlanEntry& entry : plan.entries) preemptions += entry.action == PlanAction::kPreempt ? 1 : 0;
  }
  void on_step_done(ReplicaId, StepId, const StepShape&, Time, Time) override { ++steps; }
  void on_gaps(ReplicaId, int, Duration gap, std::int64_t count, Time, RequestId) override {
    gap_time += static_cast<Wide>(gap.count()) * count;
    gap_count += count;
  }
  void on_end(const RequestRecord& record) override { records.push_back(record); }
};

struct RunResult {
  std::uint64_t decisions = 0;
  std::uint64_t timeline = 0;
  std::size_t unfinished = 0;
  std::uint64_t advanced_steps = 0;
  Collect collect;
};

inline RunResult run(const std::vector<WorkloadItem>& items,
                     const EngineConfig& config,
                     bool plain,
                     const RuleNames& names = {},
                     int replicas = 1,
                     const char* router = "round_robin") {
  ListSource source(items);
  TestCost cost;
  SimOptions options;
  options.swap_block_ns = 50'000;
  options.shortcut = !plain;
  SimBackend backend(source, {&cost}, options);
  RunResult result;
  ClusterConfig cluster_config;
  cluster_config.replicas.assign(static_cast<std::size_t>(replicas), config);
  for (EngineConfig& engine : cluster_config.replicas) engine.plain_loop = plain;
  Cluster cluster(cluster_config, [&] { return make_rules(names); },
                  Registry<Router>::instance().make(router, ConfigNode{}), {&result.collect});
  backend.attach(cluster);
  serve(cluster, backend);
  for (std::size_t i = 0; i < cluster.num_replicas(); ++i)
    cluster.at(ReplicaId{static_cast<std::uint16_t>(i)}).kv().check_all();
  result.decisions = cluster.decisions_digest();
  result.timeline = cluster.timeline_digest();
  result.unfinished = cluster.unfinished();
  return result;
}

}  // namespace servetwin::test
