// One-step requests: prompt 1, one token, one slot a replica. Durations belong to the requests.
#include "cli/queue_check.h"

#include <algorithm>
#include <vector>

#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/metrics/recorder.h"
#include "engine/serving/preset.h"
#include "sim/backend/sim_backend.h"

namespace servetwin {
namespace {

constexpr std::int64_t kCustomers = 100'000;
constexpr double kMeanService = 0.1;

struct Customer {
  Time arrival = kTimeZero;
  Duration service{};
};

std::vector<Customer> draw(ServiceLaw law, int servers, double load, std::uint64_t seed) {
  const StreamKey arrivals{seed, Stream::kArrivals, 0};
  const StreamKey services{seed, Stream::kResiduals, 0};
  std::vector<Customer> customers(static_cast<std::size_t>(kCustomers));
  Time now = kTimeZero;
  for (std::uint32_t i = 0; i < customers.size(); ++i) {
    now += duration_from_seconds(sample_exponential(arrivals, i, kMeanService / (load * servers)));
    double service = kMeanService;
    if (law == ServiceLaw::kExponential) service = sample_exponential(services, i, kMeanService);
    if (law == ServiceLaw::kUniform) service = 2 * kMeanService * draw_unit(services, i);
    customers[i] = {now, duration_from_seconds(service)};
  }
  return customers;
}

class CustomerSource final : public RequestSource {
 public:
  explicit CustomerSource(const std::vector<Customer>& customers) : customers_(customers) {}

  Time next_arrival() override { return next_ < customers_.size() ? customers_[next_].arrival : kTimeNever; }
  void take(WorkloadItem& item) override {
    item = WorkloadItem{};
    item.spec.id = RequestId{static_cast<std::uint32_t>(next_)};
    item.spec.arrival = customers_[next_++].arrival;
    item.spec.prompt = Tokens{1};
    item.spec.max_tokens = Tokens{1};
  }
  bool reacts_to_ends() const override { return false; }
  std::string describe() const override { return "customers"; }
  SourceFacts facts() const override { return {}; }

 private:
  const std::vector<Customer>& customers_;
  std::size_t next_ = 0;
};

class ServiceTimes final : public CostModel {
 public:
  explicit ServiceTimes(const std::vector<Customer>& customers) : customers_(customers) {}

  Duration step_time(const StepInput& input) const override {
    return customers_[raw(input.first_request)].service;
  }
  StepCost step(const StepInput& input) const override {
    StepCost cost;
    cost.total = step_time(input);
    return cost;
  }
  Evidence evidence() const override { return Evidence::kAnalytic; }
  std::uint64_t profile_hash() const override { return 0; }
  std::string describe() const override { return "service times"; }

 private:
  const std::vector<Customer>& customers_;
};

// Compares each end with the recursion of Kiefer and Wolfowitz (Lindley's for one server): who comes next
// starts when it is there and the server that is free first is free.
class Visits final : public Observer {
 public:
  Visits(const std::vector<Customer>& customers, int servers) {
    std::vector<Time> free_at(static_cast<std::size_t>(servers), kTimeZero);
    for (const Customer& customer : customers) {
      Time& server = *std::min_element(free_at.begin(), free_at.end());
      const Time start = std::max(server, customer.arrival);
      server = start + customer.service;
      expected_.push_back({start, server});
    }
  }

  void on_end(const RequestRecord& record) override {
    const auto& [start, end] = expected_[raw(record.id)];
    ++ended_;
    if (record.first_scheduled != start || record.end != end) ++different_;
    last_end_ = std::max(last_end_, record.end);
    real_wait_ += record.first_scheduled - record.arrival;
  }

  std::int64_t different() const { return different_ + kCustomers - ended_; }
  double mean_wait_s() const { return to_seconds(real_wait_) / static_cast<double>(kCustomers); }
  Time last_end() const { return last_end_; }

 private:
  std::vector<std::pair<Time, Time>> expected_;
  Duration real_wait_{};
  Time last_end_ = kTimeZero;
  std::int64_t ended_ = 0;
  std::int64_t different_ = 0;
};

// Pollaczek and Khinchine for one server; Erlang C for several exponential ones.
double theory(ServiceLaw law, int servers, double load) {
  const double squares = law == ServiceLaw::kExponential ? 2 : law == ServiceLaw::kConstant ? 1 : 4.0 / 3;
  if (servers == 1) return load * kMeanService * squares / (2 * (1 - load));
  const double offered = load * servers;
  double blocked = 1;  // Erlang B
  for (int n = 1; n <= servers; ++n) blocked = offered * blocked / (n + offered * blocked);
  const double waits = blocked / (1 - load * (1 - blocked));
  return waits * kMeanService / (servers * (1 - load));
}

}  // namespace

QueueCheck check_queue(ServiceLaw law, int servers, double load, std::uint64_t seed) {
  const std::vector<Customer> customers = draw(law, servers, load, seed);
  EngineConfig engine;
  engine.max_num_seqs = 1;
  engine.max_model_len = Tokens{16};
  engine.num_blocks = Blocks{4};
  ClusterConfig config;
  config.replicas.assign(static_cast<std::size_t>(servers), engine);
  Visits visits(customers, servers);
  RecorderOptions options;
  options.num_replicas = config.replicas.size();
  Recorder recorder(options);
  CustomerSource source(customers);
  const ServiceTimes cost(customers);
  SimBackend backend(source, {&cost}, SimOptions{});
  Cluster cluster(config, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("late_binding", ConfigNode{}), {&visits, &recorder});
  backend.attach(cluster);
  serve(cluster, backend);
  recorder.finish(visits.last_end(), RunState::kComplete);
  return {kCustomers, visits.different(), visits.mean_wait_s(), theory(law, servers, load),
          recorder.in_system_ns() == recorder.sojourn_ns() && recorder.in_system_ns() > 0};
}

}  // namespace servetwin
