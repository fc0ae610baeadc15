// Textbook queues made of the real core: one-step requests on replicas with one place each, and the
// recursions that say when each customer starts and leaves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/samplers.h"
#include "tests/sim/sim_support.h"

namespace servetwin::test {

// Arrivals and service times of the customers 0, 1, 2, …
struct Customers {
  std::vector<Time> arrival;
  std::vector<Duration> service;
  std::vector<std::int32_t> priority;  // empty: all alike
};

struct Visit {
  Time start = kTimeNever;
  Time end = kTimeNever;
  friend bool operator==(const Visit&, const Visit&) = default;
};

// A step lasts as long as the service of its request.
class ServiceCost final : public CostModel {
 public:
  explicit ServiceCost(const std::vector<Duration>& service) : service_(service) {}
  Duration step_time(const StepInput& input) const override { return service_[raw(input.first_request)]; }
  StepCost step(const StepInput& input) const override {
    StepCost cost;
    cost.total = step_time(input);
    return cost;
  }
  Evidence evidence() const override { return Evidence::kAnalytic; }
  std::uint64_t profile_hash() const override { return 1; }
  std::string describe() const override { return "service times by request"; }

 private:
  const std::vector<Duration>& service_;
};

class Visits final : public Observer {
 public:
  explicit Visits(std::size_t customers) : visits(customers) {}
  void on_end(const RequestRecord& record) override {
    if (record.end_state != EndState::kLength) return;
    visits[raw(record.id)] = {record.first_scheduled, record.end};
    in_order = in_order && record.first_scheduled >= last_start_;
    last_start_ = record.first_scheduled;
  }
  std::vector<Visit> visits;
  bool in_order = true;  // of one server: nobody overtakes

 private:
  Time last_start_ = kTimeZero;
};

inline EngineConfig one_place() {
  EngineConfig config;
  config.max_num_seqs = 1;
  config.max_model_len = Tokens{16};
  config.num_blocks = Blocks{4};
  return config;
}

inline WorkloadItem one_step(std::uint32_t id, Time arrival) {
  WorkloadItem item;
  item.spec.id = RequestId{id};
  item.spec.arrival = arrival;
  item.spec.prompt = Tokens{1};
  item.spec.max_tokens = Tokens{1};
  return item;
}

// The customers one after the other, without a list of them.
class CustomerSource final : public RequestSource {
 public:
  explicit CustomerSource(const Customers& customers) : customers_(customers) {}
  Time next_arrival() override {
    return next_ < customers_.arrival.size() ? customers_.arrival[next_] : kTimeNever;
  }
  void take(WorkloadItem& item) override {
    item = one_step(static_cast<std::uint32_t>(next_), customers_.arrival[next_]);
    if (!customers_.priority.empty()) item.spec.priority = customers_.priority[next_];
    ++next_;
  }
  bool reacts_to_ends() const override { return false; }
  std::string describe() const override { return "customers"; }
  SourceFacts facts() const override { return {}; }

 private:
  const Customers& customers_;
  std::size_t next_ = 0;
};

// What the core makes of them with `servers` replicas behind one queue.
inline std::vector<Visit> serve_customers(const Customers& customers,
                                          int servers,
                                          const std::vector<Observer*>& watchers = {},
                                          const RuleNames& names = {}) {
  CustomerSource source(customers);
  ServiceCost cost(customers.service);
  SimBackend backend(source, {&cost}, SimOptions{});
  Visits visits(customers.arrival.size());
  std::vector<Observer*> observers = watchers;
  observers.push_back(&visits);
  ClusterConfig config;
  config.replicas.assign(static_cast<std::size_t>(servers), one_place());
  Cluster cluster(
      config, [&names] { return make_rules(names); },
      Registry<Router>::instance().make(servers == 1 ? "round_robin" : "late_binding", ConfigNode{}),
      observers);
  backend.attach(cluster);
  serve(cluster, backend);
  return visits.visits;
}

// Kiefer and Wolfowitz: who comes next starts when he is there and the server that is free first is free.
// With one server this is Lindley's recursion.
inline std::vector<Visit> recursion(const Customers& customers, int servers) {
  std::vector<Time> free_at(static_cast<std::size_t>(servers), kTimeZero);
  std::vector<Visit> visits;
  visits.reserve(customers.arrival.size());
  for (std::size_t n = 0; n < customers.arrival.size(); ++n) {
    Time& server = *std::min_element(free_at.begin(), free_at.end());
    const Time start = std::max(customers.arrival[n], server);
    server = start + customers.service[n];
    visits.push_back({start, server});
  }
  return visits;
}

// How far the mean of correlated samples is from `expected`, in standard deviations of that mean, which are
// taken from the means of batches.
inline double z_of(const std::vector<double>& samples, double expected) {
  constexpr std::size_t kBatches = 25;
  const std::size_t size = samples.size() / kBatches;
  std::vector<double> means;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    double sum = 0;
    for (std::size_t i = batch * size; i < (batch + 1) * size; ++i) sum += samples[i];
    means.push_back(sum / static_cast<double>(size));
  }
  double mean = 0;
  for (const double value : means) mean += value / kBatches;
  double variance = 0;
  for (const double value : means) variance += (value - mean) * (value - mean) / (kBatches - 1);
  return (mean - expected) / std::sqrt(variance / kBatches);
}

}  // namespace servetwin::test
