// If one of these fails, a rule does not do for latency, fairness or memory what it is chosen for.
#include <algorithm>
#include <numeric>

#include "engine/base/samplers.h"
#include "tests/sim/rule_world.h"
#include "tests/support/catch.h"

namespace servetwin::rule_claims_test {
namespace {

using namespace test;
using namespace std::chrono_literals;

StreamKey key(std::uint64_t what) { return {20261130, Stream::kTest, what}; }

// One in ten is long; arrivals at random, close to what four places can do.
std::vector<WorkloadItem> short_and_long(std::uint32_t count) {
  std::vector<WorkloadItem> items;
  double at = 0;
  for (std::uint32_t id = 0; id < count; ++id) {
    at += sample_exponential(key(1), id, 75);
    const bool is_long = draw_unit(key(2), id) < 0.1;
    const std::int64_t spread = static_cast<std::int64_t>(draw_unit(key(3), id) * 20);
    items.push_back(item_of(id, static_cast<std::int64_t>(at), 20, is_long ? 300 + spread : 5 + spread));
    items.back().spec.max_tokens = Tokens{400};
  }
  return items;
}

RuleWorld four_places(const char* order, const char* predictor = "none") {
  RuleWorld world;
  world.names.waiting_order = order;
  world.names.predictor = predictor;
  world.config.max_num_seqs = 4;
  world.config.max_model_len = Tokens{2000};
  world.config.num_blocks = Blocks{2000};
  return world;
}

std::vector<double> sojourns(const RunResult& result, bool only_long = false) {
  std::vector<double> seconds;
  for (const RequestRecord& record : result.collect.records) {
    if (!only_long || record.outputs >= Tokens{300})
      seconds.push_back(to_seconds(record.end - record.arrival));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_sojourn(RuleWorld world, const std::vector<WorkloadItem>& items) {
  return mean(sojourns(world.run(items)));
}

TEST_CASE("SRTF with an oracle lowers the mean and raises the tail of long jobs") {
  const std::vector<WorkloadItem> items = short_and_long(1500);
  const RunResult first_come = four_places("fcfs").run(items);
  RuleWorld world = four_places("srtf", "oracle");
  world.names.yield = "by_order";
  world.parameters = parameter("srtf", "max_wait", "1h");
  const RunResult shortest = world.run(items);
  CHECK(shortest.collect.preemptions > 0);
  CHECK(mean(sojourns(shortest)) < 0.6 * mean(sojourns(first_come)));
  const std::vector<double> before = sojourns(first_come, true);
  const std::vector<double> after = sojourns(shortest, true);
  REQUIRE(before.size() == after.size());
  CHECK(after[after.size() * 95 / 100] > 1.2 * before[before.size() * 95 / 100]);
  // The bound cuts that tail again.
  world.parameters = parameter("srtf", "max_wait", "2s");
  CHECK(sojourns(world.run(items), true).back() < after.back());
}

TEST_CASE("SJF gets worse with the error of its predictions, and gracefully") {
  const std::vector<WorkloadItem> items = short_and_long(1500);
  const double first_come = mean_sojourn(four_places("fcfs"), items);
  RuleWorld world = four_places("sjf", "noisy_oracle");
  double last = 0;
  for (const char* sigma : {"0", "1", "2", "5"}) {
    world.parameters = map_of(
        {{"sjf", map_of({{"max_wait", text("1h")}})}, {"noisy_oracle", map_of({{"sigma", text(sigma)}})}});
    const double now = mean_sojourn(world, items);
    INFO("sigma " << sigma);
    CHECK(now > 0.98 * last);
    CHECK(now < 1.05 * first_come);
    last = now;
  }
  const double exact = mean_sojourn(four_places("sjf", "oracle"), items);
  CHECK(exact < 0.7 * first_come);
  CHECK(mean_sojourn(four_places("sjf", "buckets"), items) < 0.9 * first_come);
  CHECK(mean_sojourn(four_places("sjf", "constant"), items) > exact);
}

// Service of two tenants that both always wait: w_in a prompt token, w_out an output.
class Service final : public Observer {
 public:
  void on_plan(const StepPlan& plan) override {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kAdmit && !entry.resumed)
        of[tenant.at(entry.request)] += static_cast<double>(prompt.at(entry.request));
    }
    REQUIRE(plan.all_rows);
    for (const StepRow& row : plan.rows) of[tenant.at(row.request)] += row.sampled ? 2 : 0;
    if (!both_wait()) return;
    gap = std::max(gap, std::abs(of[0] / weight[0] - of[1] / weight[1]));
    for (int i = 0; i < 2; ++i) backlogged[i] = of[i];
  }
  void on_arrived(const RequestSpec& request, Time) override {
    tenant[request.id] = raw(request.tenant);
    prompt[request.id] = request.prompt.value;
    ++left[raw(request.tenant)];
  }
  void on_end(const RequestRecord& record) override { --left[raw(record.tenant)]; }
  // More than may run at once.
  bool both_wait() const { return left[0] > 8 && left[1] > 8; }

  std::map<RequestId, int> tenant;
  std::map<RequestId, std::int64_t> prompt;
  int left[2] = {};
  double of[2] = {};
  double backlogged[2] = {};  // when both last waited
  double weight[2] = {1, 1};
  double gap = 0;
};

// Tenant 1 sends first, and three times as much.
std::vector<WorkloadItem> unequal_tenants() {
  std::vector<WorkloadItem> items;
  for (std::uint32_t id = 0; id < 400; ++id) {
    const bool heavy = id % 4 != 3;
    items.push_back(item_of(id, id, heavy ? 100 : 40, heavy ? 40 : 25));
    items.back().spec.tenant = TenantId{static_cast<std::uint16_t>(heavy ? 1 : 0)};
  }
  return items;
}

RuleWorld fair_world(const char* order) {
  RuleWorld world = four_places(order);
  world.config.max_num_seqs = 8;
  world.config.num_blocks = Blocks{65};  // 1024 tokens
  return world;
}

Service serve_tenants(RuleWorld world, double weight_of_1 = 1) {
  Service service;
  service.weight[1] = weight_of_1;
  world.watchers = {&service};
  CHECK(world.run(unequal_tenants(), true).unfinished == 0);
  return service;
}

TEST_CASE(
    "VTC bounds the gap in service of two tenants that always wait; first come, first served does not") {
  const double bound = 2 * std::max(1.0 * 100, 2.0 * 1024);
  CHECK(serve_tenants(fair_world("vtc")).gap <= bound);
  CHECK(serve_tenants(fair_world("fcfs")).gap > bound);
}

TEST_CASE("VTC gives weighted tenants their shares") {
  RuleWorld world = fair_world("vtc");
  ConfigNode weights;
  weights.kind = ConfigNode::Kind::kList;
  weights.items = {text("1"), text("3")};
  world.parameters = map_of({{"vtc", map_of({{"tenant_weights", weights}})}});
  const Service service = serve_tenants(world, 3);
  CHECK(service.gap <= 2 * 2.0 * 1024);
  const double ratio = service.backlogged[1] / service.backlogged[0];
  CHECK(ratio > 2.4);
  CHECK(ratio < 3.6);
}

TEST_CASE("deficit round robin serves two tenants alike, whatever they send") {
  const Service service = serve_tenants(fair_world("deficit_round_robin"));
  // It counts an output as one token: prompts and outputs of both are compared in its own measure by shares.
  const double ratio = service.backlogged[1] / service.backlogged[0];
  CHECK(ratio > 0.7);
  CHECK(ratio < 1.4);
  const Service unfair = serve_tenants(fair_world("fcfs"));
  CHECK(unfair.backlogged[1] / unfair.backlogged[0] > 3);
}

// Long answers against a small cache.
std::vector<WorkloadItem> growing(std::uint32_t count) {
  std::vector<WorkloadItem> items;
  for (std::uint32_t id = 0; id < count; ++id) {
    const std::int64_t outputs = 20 + static_cast<std::int64_t>(draw_unit(key(4), id) * 150);
    items.push_back(item_of(id, id * 30, 30, outputs));
    items.back().spec.max_tokens = Tokens{300};
  }
  return items;
}

RuleWorld starved_of_kv() {
  RuleWorld world = four_places("fcfs");
  world.config.max_num_seqs = 64;
  world.config.num_blocks = Blocks{101};
  return world;
}

TEST_CASE("SGLang's token ratio preempts less than optimism and finishes before full reservation") {
  const std::vector<WorkloadItem> items = growing(300);
  RuleWorld world = starved_of_kv();
  const RunResult optimistic = world.run(items);
  world.names.admission = "conservative";
  const RunResult conservative = world.run(items);
  world.names.admission = "new_token_ratio";
  const RunResult ratio = world.run(items);
  CHECK(optimistic.collect.preemptions > 100);
  CHECK(conservative.collect.preemptions == 0);
  CHECK(ratio.collect.preemptions < optimistic.collect.preemptions / 3);
  CHECK(sojourns(ratio).back() < sojourns(conservative).back());
}

std::int64_t recomputed(const RunResult& result) {
  std::int64_t sum = 0;
  for (const RequestRecord& record : result.collect.records) sum += record.recomputed.value;
  return sum;
}

TEST_CASE(
    "victims chosen by what they lose compute less again for each preemption than those admitted last") {
  std::vector<WorkloadItem> items = growing(300);
  for (WorkloadItem& item : items)
    item.spec.prompt = Tokens{10 + static_cast<std::int64_t>(draw_unit(key(5), raw(item.spec.id)) * 400)};
  RuleWorld world = starved_of_kv();
  world.config.prefix_caching = false;
  const auto cost_of = [&](const char* victim) {
    world.names.victim = victim;
    const RunResult result = world.run(items);
    CHECK(result.collect.preemptions > 50);
    return static_cast<double>(recomputed(result)) / static_cast<double>(result.collect.preemptions);
  };
  const double last = cost_of("last_admitted");
  CHECK(cost_of("least_computed") < last);
  CHECK(cost_of("least_lost") < last);
}

TEST_CASE("a request that does not fit lets only so many others pass") {
  // Two hold most of the cache; 2 does not fit beside them, the small ones do.
  std::vector<WorkloadItem> items = {item_of(0, 0, 60, 60), item_of(1, 0, 60, 120), item_of(2, 1, 150, 5)};
  for (std::uint32_t id = 3; id < 9; ++id) items.push_back(item_of(id, 2, 4, 4));
  RuleWorld world = four_places("fcfs");
  world.config.max_num_seqs = 3;
  world.config.num_blocks = Blocks{18};
  const auto passed = [&](const char* skips) {
    world.parameters = parameter("optimistic", "max_skips", skips);
    const auto records = by_id(world.run(items));
    return std::count_if(records.begin(), records.end(), [&](const auto& one) {
      return raw(one.first) > 2 && one.second.first_scheduled < records.at(RequestId{2}).first_scheduled;
    });
  };
  CHECK(passed("0") == 0);
  CHECK(passed("2") == 2);
  CHECK(passed("100") == 6);
}

}  // namespace
}  // namespace servetwin::rule_claims_test
