// If these fail, windows do not go together with some rule: blocks are lost or counted twice, somebody is
// left behind, or a reservation is made for what is never held.
#include "tests/sim/draw.h"
#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"

namespace servetwin::windows_test {

using namespace test;

namespace {

EngineConfig windowed(std::int64_t usable, std::vector<KvRetention> groups) {
  EngineConfig config;
  config.block_size = Tokens{16};
  config.num_blocks = Blocks{usable + 1};
  config.max_model_len = Tokens{2000};
  config.max_num_batched_tokens = Tokens{64};
  config.kv_groups = std::move(groups);
  return config;
}

WorkloadItem item_of(std::uint32_t id, std::int64_t prompt, std::int64_t output, Time arrival = kTimeZero) {
  WorkloadItem item;
  item.spec.id = RequestId{id};
  item.spec.prompt = Tokens{prompt};
  item.spec.max_tokens = Tokens{output};
  item.spec.arrival = arrival;
  item.truth.output = Tokens{output};
  return item;
}

// Shared beginnings, and lengths far beyond the windows.
std::vector<WorkloadItem> random_items(std::uint64_t seed) {
  Draw draw(seed);
  std::vector<WorkloadItem> items;
  Time arrival = kTimeZero;
  for (std::uint32_t id = 0; id < 60; ++id) {
    arrival += Duration{draw.below(60'000'000)};
    WorkloadItem item = item_of(id, 40 + draw.below(300), 1 + draw.below(200), arrival);
    item.spec.priority = static_cast<std::int32_t>(draw.below(3));
    const std::int64_t shared = 16 * (1 + draw.below(2));
    item.spec.content = {{static_cast<std::uint64_t>(draw.below(3)), Tokens{shared}},
                         {1000 + id, item.spec.prompt - Tokens{shared}}};
    items.push_back(item);
  }
  return items;
}

// Most requests that run at one time.
std::int64_t peak_of(const std::vector<WorkloadItem>& items, const EngineConfig& config) {
  class Peak final : public Observer {
   public:
    void on_plan(const StepPlan& plan) override { running = std::max(running, plan.running); }
    std::int64_t running = 0;
  };
  ListSource source(items);
  TestCost cost;
  SimBackend backend(source, {&cost}, {});
  RuleNames names;
  names.admission = "conservative";
  Peak peak;
  Collect collect;
  Cluster cluster({{config}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&peak, &collect});
  backend.attach(cluster);
  serve(cluster, backend);
  CHECK(collect.preemptions == 0);
  CHECK(cluster.unfinished() == 0);
  const ReplicaCore& core = cluster.at(ReplicaId{0}).state();
  CHECK(core.held_sum == 0);
  CHECK(core.completion_sum == 0);
  return peak.running;
}

}  // namespace

TEST_CASE("a window that holds half of the length doubles how many have their KV reserved to the end") {
  std::vector<WorkloadItem> items;
  for (std::uint32_t id = 0; id < 40; ++id) items.push_back(item_of(id, 17, 176));
  // 192 tokens are 12 blocks; a window of 17 with chunks of 64 holds (16 + 64) / 16 + 1 = 6.
  CHECK(peak_of(items, windowed(48, {})) == 4);
  CHECK(peak_of(items, windowed(48, {{Tokens{17}, Tokens{0}}})) == 8);
  CHECK(peak_of(items, windowed(48, {{Tokens{17}, Tokens{16}}})) == 6);     // a block of sinks more
  CHECK(peak_of(items, windowed(48, {{}, {Tokens{17}, Tokens{0}}})) == 2);  // 12 and 6
}

TEST_CASE("windows go together with every admission, victim and order of vLLM's loop") {
  struct Rules {
    const char* order;
    const char* admission;
    const char* victim;
    const char* yield;
  };
  const Rules all[] = {
      {"fcfs", "optimistic", "last_admitted", "never"},
      {"priority", "optimistic", "least_important", "never"},
      {"lpm", "conservative", "last_admitted", "never"},
      {"fcfs", "new_token_ratio", "fewest_outputs", "never"},
      {"priority", "optimistic", "least_lost", "by_order"},
      {"shortest_uncached", "optimistic", "least_computed", "never"},
  };
  std::int64_t preemptions = 0;
  for (const Rules& rules : all) {
    CAPTURE(rules.order, rules.admission, rules.victim);
    RuleNames names;
    names.waiting_order = rules.order;
    names.admission = rules.admission;
    names.victim = rules.victim;
    names.yield = rules.yield;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const std::vector<WorkloadItem> items = random_items(seed);
      const EngineConfig config = windowed(90, {{}, {Tokens{50}, Tokens{0}}, {Tokens{50}, Tokens{5}}});
      const RunResult plain = run(items, config, true, names);
      const RunResult usual = run(items, config, false, names);
      CHECK(plain.unfinished == 0);
      CHECK(plain.decisions == usual.decisions);
      CHECK(plain.timeline == usual.timeline);
      for (const RequestRecord& record : plain.collect.records) CHECK(record.end_state == EndState::kLength);
      preemptions += plain.collect.preemptions;
    }
  }
  CHECK(preemptions > 0);
}

TEST_CASE("a prompt that only fits as its window rolls is served, and one that never fits is refused") {
  const std::vector<KvRetention> window = {{Tokens{33}, Tokens{0}}};
  const std::int64_t most = (32 + 64) / 16 + 1;
  for (const std::int64_t usable : {most, most - 1}) {
    const RunResult result = run({item_of(0, 1500, 20)}, windowed(usable, window), true);
    REQUIRE(result.collect.records.size() == 1);
    const EndState expected = usable == most ? EndState::kLength : EndState::kRejected;
    CHECK(result.collect.records.front().end_state == expected);
  }
}

}  // namespace servetwin::windows_test
