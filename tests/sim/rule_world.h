// Runs of the core with any rules: what rules are given, told lengths, and who waits at each admission.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "costmodels/cost_estimator.h"
#include "tests/sim/sim_support.h"
#include "tests/workload/nodes.h"

namespace servetwin::test {

// {RULE: {NAME: VALUE}}
inline ConfigNode parameter(const std::string& rule, const std::string& name, const std::string& value) {
  return map_of({{rule, map_of({{name, text(value)}})}});
}

// A scheduler, what its rules are given, and what is noted of a run.
struct RuleWorld {
  EngineConfig config;
  RuleNames names;
  ConfigNode parameters;
  std::vector<ClassLimits> classes = {{std::chrono::milliseconds(500), std::chrono::milliseconds(50)}};
  TestCost cost;
  std::vector<Observer*> watchers;

  RuleContext context(const StepTimeEstimator& estimator) const {
    RuleContext given;
    given.estimator = &estimator;
    given.swap_block_ns = 50'000;
    given.classes = classes;
    return given;
  }

  // The items' true lengths are told, as for an oracle.
  RunResult run(std::vector<WorkloadItem> items, bool plain = false) const {
    for (WorkloadItem& item : items)
      item.spec.told_outputs = static_cast<std::int32_t>(item.truth.output.value);
    ListSource source(std::move(items));
    const CostEstimator estimator(cost);
    SimOptions options;
    options.swap_block_ns = 50'000;
    options.shortcut = !plain;
    SimBackend backend(source, {&cost}, options);
    RunResult result;
    ClusterConfig cluster_config{{config}, 0};
    cluster_config.replicas.front().plain_loop = plain;
    std::vector<Observer*> observers = {&result.collect};
    observers.insert(observers.end(), watchers.begin(), watchers.end());
    Cluster cluster(
        cluster_config, [&] { return make_rules(names, parameters, context(estimator)); },
        Registry<Router>::instance().make("round_robin", ConfigNode{}), observers);
    backend.attach(cluster);
    serve(cluster, backend);
    cluster.at(ReplicaId{0}).kv().check_all();
    result.decisions = cluster.decisions_digest();
    result.timeline = cluster.timeline_digest();
    result.unfinished = cluster.unfinished();
    return result;
  }
};

inline std::map<RequestId, RequestRecord> by_id(const RunResult& result) {
  std::map<RequestId, RequestRecord> records;
  for (const RequestRecord& record : result.collect.records) records[record.id] = record;
  return records;
}

inline WorkloadItem item_of(std::uint32_t id,
                            std::int64_t arrival_ms,
                            std::int64_t prompt,
                            std::int64_t outputs) {
  WorkloadItem item;
  item.spec.id = RequestId{id};
  item.spec.arrival = time_at_ns(arrival_ms * 1'000'000);
  item.spec.prompt = Tokens{prompt};
  item.spec.max_tokens = Tokens{outputs};
  item.truth.output = Tokens{outputs};
  return item;
}

}  // namespace servetwin::test
