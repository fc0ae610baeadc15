// If one of these fails, priorities or continuous batching share a server otherwise than queueing theory says
// they must.
#include "tests/analytic/queue_world.h"
#include "tests/support/catch.h"

namespace servetwin::policy_queues_test {
namespace {

using namespace test;

constexpr double kMeanService = 1e6;  // nanoseconds
constexpr double kGate = 4.5;         // standard deviations

StreamKey key(std::uint64_t what) { return {20261130, Stream::kTest, what}; }

// Three classes at 0.25 of the load each, exponential service of mean 1 or constant of mean 1.
Customers classes_of(std::size_t count, bool exponential) {
  Customers customers;
  Time now = kTimeZero;
  for (std::uint32_t n = 0; n < count; ++n) {
    now += duration_from_ns(sample_exponential(key(1), n, kMeanService / 0.75));
    customers.arrival.push_back(now);
    const double service = exponential ? sample_exponential(key(2), n, kMeanService) : kMeanService;
    customers.service.push_back(duration_from_ns(service));
    customers.priority.push_back(static_cast<std::int32_t>(draw_unit(key(3), n) * 3));
  }
  return customers;
}

TEST_CASE("M/G/1 with non-preemptive priorities waits as Cobham's formula says, class by class") {
  const bool exponential = GENERATE(true, false);
  const Customers customers = classes_of(400'000, exponential);
  RuleNames names;
  names.waiting_order = "priority";
  const std::vector<Visit> visits = serve_customers(customers, 1, {}, names);
  const double residual = 0.75 * (exponential ? 2.0 : 1.0) / 2;
  for (std::int32_t priority = 0; priority < 3; ++priority) {
    std::vector<double> waits;
    for (std::size_t n = customers.arrival.size() / 10; n < customers.arrival.size(); ++n) {
      if (customers.priority[n] != priority) continue;
      waits.push_back(static_cast<double>(to_ns(visits[n].start - customers.arrival[n])) / kMeanService);
    }
    const double before = 0.25 * priority;
    const double expected = residual / ((1 - before) * (1 - before - 0.25));
    INFO("priority " << priority << ", mean wait " << expected);
    CHECK(std::abs(z_of(waits, expected)) < kGate);
  }
}

// A step takes as long as it has tokens, so each of n requests in it advances at 1/n of the speed.
TEST_CASE(
    "continuous batching with steps as long as their batch is processor sharing: E[T|s] = s / (1 - load)") {
  constexpr double kLoad = 0.6;
  constexpr double kToken = 1e6;  // nanoseconds
  constexpr double kMeanOutputs = 100;
  std::vector<WorkloadItem> items;
  Time now = kTimeZero;
  for (std::uint32_t n = 0; n < 40'000; ++n) {
    now += duration_from_ns(sample_exponential(key(4), n, kToken * kMeanOutputs / kLoad));
    WorkloadItem item = one_step(n, now);
    item.spec.max_tokens =
        Tokens{1 + static_cast<std::int64_t>(sample_exponential(key(5), n, kMeanOutputs - 0.5))};
    item.truth.output = item.spec.max_tokens;
    items.push_back(item);
  }
  ListSource source(items);
  TestCost cost;
  cost.base = 0;
  cost.per_token = kToken;
  cost.per_context = 0;
  SimBackend backend(source, {&cost}, SimOptions{});
  Collect collect;
  EngineConfig config;
  config.max_num_seqs = 2000;
  config.max_num_batched_tokens = Tokens{4000};
  config.max_model_len = Tokens{4000};
  config.num_blocks = Blocks{100'000};
  Cluster cluster({{config}, 0}, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&collect});
  backend.attach(cluster);
  serve(cluster, backend);
  // By length, in bands: slowdown T / s of each request, whose mean is the same in all of them.
  for (const std::int64_t least : {20, 60, 150, 300}) {
    std::vector<double> slowdowns;
    for (const RequestRecord& record : collect.records) {
      if (record.outputs.value < least || record.outputs.value >= 2 * least) continue;
      const double service = kToken * static_cast<double>(record.outputs.value);
      slowdowns.push_back(static_cast<double>((record.end - record.arrival).count()) / service);
    }
    double mean = 0;
    for (const double value : slowdowns) mean += value / static_cast<double>(slowdowns.size());
    INFO("from " << least << " outputs");
    // An arrival waits for the end of a step: less than two tokens' time.
    CHECK(mean > 0.93 / (1 - kLoad));
    CHECK(mean < 1.07 / (1 - kLoad) + 2.0 / static_cast<double>(least));
  }
}

}  // namespace
}  // namespace servetwin::policy_queues_test
