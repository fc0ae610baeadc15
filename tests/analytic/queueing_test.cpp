// If one of these fails, the simulated clock or the order of service is wrong: each queue has a recursion
// that gives every start and end to the nanosecond, and a formula that its means obey.
#include <functional>

#include "tests/analytic/queue_world.h"
#include "tests/support/catch.h"

namespace servetwin::queueing_test {
namespace {

using namespace test;

constexpr std::size_t kCustomers = 200'000;
constexpr double kMeanService = 1e6;  // nanoseconds
constexpr double kGate = 4.5;         // standard deviations

StreamKey key(std::uint64_t what) { return {20240229, Stream::kTest, what}; }

// Poisson arrivals at `load` of what `servers` can do.
Customers draw(double load, int servers, const std::function<double(std::uint32_t)>& service_ns) {
  Customers customers;
  const double gap = kMeanService / (load * servers);
  Time now = kTimeZero;
  for (std::uint32_t n = 0; n < kCustomers; ++n) {
    now += duration_from_ns(sample_exponential(key(1), n, gap));
    customers.arrival.push_back(now);
    customers.service.push_back(duration_from_ns(service_ns(n)));
  }
  return customers;
}

// A service time with its mean (kMeanService) and second moment in units of the squared mean.
struct Service {
  const char* name;
  std::function<double(std::uint32_t)> sample;
  double second_moment;
};

// Two exponentials, 0.9 of mean 0.5 and 0.1 of mean 5.5: squared coefficient of variation 5.5.
double hyperexponential(std::uint32_t n) {
  const double mean = draw_unit(key(3), n) < 0.9 ? 0.5 : 5.5;
  return sample_exponential(key(2), n, mean * kMeanService);
}

// Squared coefficient of variation e^(0.8^2) - 1.
double lognormal(std::uint32_t n) { return kMeanService * sample_lognormal(key(2), n, -0.32, 0.8); }

std::vector<Service> services() {
  return {{"M/M/1", [](std::uint32_t n) { return sample_exponential(key(2), n, kMeanService); }, 2.0},
          {"M/D/1", [](std::uint32_t) { return kMeanService; }, 1.0},
          {"M/H2/1", hyperexponential, 0.9 * 2 * 0.25 + 0.1 * 2 * 30.25},
          {"M/LN/1", lognormal, std::exp(0.64)}};
}

// In units of the mean service time; the first tenth is left out, when the queue is still emptier than later.
std::vector<double> waits(const Customers& customers, const std::vector<Visit>& visits) {
  std::vector<double> result;
  for (std::size_t n = kCustomers / 10; n < kCustomers; ++n) {
    result.push_back(static_cast<double>(to_ns(visits[n].start - customers.arrival[n])) / kMeanService);
  }
  return result;
}

std::vector<double> share_without_wait(std::vector<double> wait) {
  for (double& value : wait) value = value == 0.0 ? 1.0 : 0.0;
  return wait;
}

// Probability that an arrival must wait.
double erlang_c(int servers, double load) {
  double blocked = 1;  // Erlang B, by its recursion
  const double offered = load * servers;
  for (int k = 1; k <= servers; ++k) blocked = offered * blocked / (k + offered * blocked);
  return blocked / (1 - load * (1 - blocked));
}

TEST_CASE("every start and end of a single server equals Lindley's recursion to the nanosecond") {
  const double load = GENERATE(0.7, 0.95);
  for (const Service& service : services()) {
    const Customers customers = draw(load, 1, service.sample);
    const std::vector<Visit> visits = serve_customers(customers, 1);
    INFO(service.name << " at load " << load);
    CHECK((visits == recursion(customers, 1)));
    // Pollaczek and Khinchine; arrivals see the share of time in which the server is idle.
    const std::vector<double> wait = waits(customers, visits);
    const double expected = load * service.second_moment / (2 * (1 - load));
    CHECK(std::abs(z_of(wait, expected)) < kGate);
    CHECK(std::abs(z_of(share_without_wait(wait), 1 - load)) < kGate);
  }
}

TEST_CASE("the sojourn in M/M/1 is exponential: each of its quantiles is where the formula puts it") {
  const double load = 0.7;
  const Customers customers = draw(load, 1, services()[0].sample);
  const std::vector<Visit> visits = serve_customers(customers, 1);
  for (const double share : {0.5, 0.9, 0.99}) {
    const double quantile = -std::log(1 - share) / (1 - load);
    std::vector<double> below;
    for (std::size_t n = kCustomers / 10; n < kCustomers; ++n) {
      const double sojourn = static_cast<double>(to_ns(visits[n].end - customers.arrival[n])) / kMeanService;
      below.push_back(sojourn <= quantile ? 1.0 : 0.0);
    }
    INFO(share);
    CHECK(std::abs(z_of(below, share)) < kGate);
  }
}

TEST_CASE("several servers behind one queue equal the recursion of Kiefer and Wolfowitz to the nanosecond") {
  const double load = GENERATE(0.7, 0.95);
  const int servers = GENERATE(2, 5);
  const Customers customers = draw(load, servers, services()[0].sample);
  const std::vector<Visit> visits = serve_customers(customers, servers);
  CHECK((visits == recursion(customers, servers)));
  const double must_wait = erlang_c(servers, load);
  const std::vector<double> wait = waits(customers, visits);
  INFO(servers << " servers at load " << load);
  CHECK(std::abs(z_of(wait, must_wait / (servers * (1 - load)))) < kGate);
  CHECK(std::abs(z_of(share_without_wait(wait), 1 - must_wait)) < kGate);
}

TEST_CASE("D/D/1 waits not at all when it keeps up, and n times the lack when it does not") {
  const std::int64_t gap = 1000;
  const std::int64_t service = GENERATE(999, 1000, 1001, 1700);
  Customers customers;
  for (std::int64_t n = 0; n < 5000; ++n) {
    customers.arrival.push_back(time_at_ns(n * gap));
    customers.service.push_back(Duration{service});
  }
  const std::vector<Visit> visits = serve_customers(customers, 1);
  const std::int64_t lack = std::max<std::int64_t>(0, service - gap);
  bool exact = true;
  for (std::int64_t n = 0; n < 5000; ++n) {
    const Visit& visit = visits[static_cast<std::size_t>(n)];
    exact = exact && to_ns(visit.start) == n * (gap + lack) && to_ns(visit.end - visit.start) == service;
  }
  CHECK(exact);
}

TEST_CASE("first come, first served: nobody overtakes on one server") {
  const Customers customers = draw(0.95, 1, hyperexponential);
  Visits order(kCustomers);
  serve_customers(customers, 1, {&order});
  CHECK(order.in_order);
}

TEST_CASE("ten arrivals at one stamp make one step of ten") {
  std::vector<WorkloadItem> items;
  for (std::uint32_t id = 0; id < 10; ++id) items.push_back(one_step(id, time_at_ns(5)));
  EngineConfig config = one_place();
  config.max_num_seqs = 10;
  config.num_blocks = Blocks{11};
  const RunResult result = run(items, config, GENERATE(true, false));
  CHECK(result.collect.steps == 1);
  CHECK(result.collect.tokens == 10);
  for (const RequestRecord& record : result.collect.records) CHECK(record.first_scheduled == time_at_ns(5));
}

}  // namespace
}  // namespace servetwin::queueing_test
