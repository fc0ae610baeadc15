// If one of these fails, reserving KV to completion does not do what it is for: it never preempts, and pays
// for that with fewer requests at a time.
#include <rapidcheck.h>

#include "tests/sim/hand_world.h"
#include "tests/support/catch.h"

namespace servetwin::reservation_test {
namespace {

using namespace test;

// Most requests that ran at one time.
class Peak final : public Observer {
 public:
  void on_plan(const StepPlan& plan) override { running = std::max(running, plan.running); }
  std::int64_t running = 0;
};

struct Outcome {
  std::int64_t peak = 0;
  std::int64_t preemptions = 0;
  std::size_t unfinished = 0;
};

Outcome run_with(const std::string& admission,
                 const std::vector<WorkloadItem>& items,
                 EngineConfig config,
                 bool plain) {
  ListSource source(items);
  TestCost cost;
  SimOptions options;
  options.shortcut = !plain;
  SimBackend backend(source, {&cost}, options);
  RuleNames names;
  names.admission = admission;
  config.plain_loop = plain;
  Peak peak;
  Collect collect;
  Cluster cluster({{config}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&peak, &collect});
  backend.attach(cluster);
  serve(cluster, backend);
  return {peak.running, collect.preemptions, cluster.unfinished()};
}

std::vector<WorkloadItem> burst(std::int64_t max_tokens) {
  std::vector<WorkloadItem> items(60);
  for (std::uint32_t id = 0; id < items.size(); ++id) {
    items[id].spec.id = RequestId{id};
    items[id].spec.prompt = Tokens{100 + id};
    items[id].truth.output = Tokens{40 + 7 * (id % 20)};
    items[id].spec.max_tokens = max_tokens == 0 ? items[id].truth.output : Tokens{max_tokens};
  }
  return items;
}

EngineConfig one_gpu() {
  EngineConfig config;
  config.max_model_len = Tokens{8192};
  config.num_blocks = Blocks{601};
  return config;
}

TEST_CASE("reserving for max_tokens of 4096 admits far fewer than reserving for the true output") {
  const bool plain = GENERATE(true, false);
  const Outcome wide = run_with("conservative", burst(4096), one_gpu(), plain);
  const Outcome exact = run_with("conservative", burst(0), one_gpu(), plain);
  CHECK(wide.unfinished + exact.unfinished == 0);
  CHECK(wide.peak == 2);  // 2 x 263 blocks of 600
  CHECK(exact.peak > 10 * wide.peak);
  CHECK(wide.preemptions + exact.preemptions == 0);
}

TEST_CASE("overcommitting carries more at a time than any reservation, and pays with preemptions") {
  const bool plain = GENERATE(true, false);
  const Outcome exact = run_with("conservative", burst(0), one_gpu(), plain);
  const Outcome optimistic = run_with("optimistic", burst(0), one_gpu(), plain);
  CHECK(optimistic.peak > exact.peak);
  CHECK(optimistic.preemptions > 0);
  CHECK(optimistic.unfinished == 0);
}

TEST_CASE("reservation never preempts, whatever comes") {
  const bool held = rc::check([] {
    EngineConfig config;
    config.block_size = Tokens{*rc::gen::element(1, 4, 16)};
    config.num_blocks = Blocks{*rc::gen::inRange(3, 60)};
    config.max_model_len = Tokens{*rc::gen::inRange(20, 200)};
    config.max_num_batched_tokens = Tokens{*rc::gen::inRange(8, 128)};
    config.max_num_seqs = *rc::gen::inRange(1, 12);
    config.prefix_caching = *rc::gen::arbitrary<bool>();
    config.chunked_prefill = *rc::gen::arbitrary<bool>();
    const bool plain = *rc::gen::arbitrary<bool>();
    if (plain && *rc::gen::arbitrary<bool>()) config.in_flight = {2, *rc::gen::arbitrary<bool>()};
    std::vector<WorkloadItem> items(static_cast<std::size_t>(*rc::gen::inRange(1, 25)));
    Time now = kTimeZero;
    for (std::uint32_t id = 0; id < items.size(); ++id) {
      now += std::chrono::milliseconds(*rc::gen::inRange(0, 60));
      RequestSpec& spec = items[id].spec;
      spec.id = RequestId{id};
      spec.arrival = now;
      spec.prompt = Tokens{*rc::gen::inRange(1, 120)};
      spec.max_tokens = Tokens{*rc::gen::inRange(1, 120)};
      spec.content = {{static_cast<std::uint64_t>(*rc::gen::inRange(0, 3)), spec.prompt}};
      spec.continues_content = *rc::gen::arbitrary<bool>();
      items[id].truth.output = Tokens{*rc::gen::inRange(1, 150)};
      if (*rc::gen::inRange(0, 5) == 0)
        items[id].truth.cancel_after = std::chrono::milliseconds(*rc::gen::inRange(0, 900));
    }
    RC_ASSERT(run_with("conservative", items, config, plain).preemptions == 0);
  });
  CHECK(held);
}

}  // namespace
}  // namespace servetwin::reservation_test
