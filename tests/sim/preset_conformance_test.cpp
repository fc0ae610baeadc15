// If one fails, some preset loses a request or a block, exceeds its budget, stops making progress, or decides
// otherwise when asked again or with the shortcut.
#include "tests/sim/draw.h"
#include "tests/sim/preset_world.h"
#include "tests/support/catch.h"

namespace servetwin::preset_conformance_test {

using namespace test;

namespace {

std::vector<WorkloadItem> random_requests(Draw& draw) {
  std::vector<WorkloadItem> items;
  Time at = kTimeZero;
  const std::int64_t gap = 1 + draw.below(draw.chance(50) ? 300 : 30);
  for (std::int64_t i = 0, count = 5 + draw.below(40); i < count; ++i) {
    if (!draw.chance(20)) at += Duration{draw.below(2 * gap) * 1000000};
    WorkloadItem item;
    item.spec.id = RequestId{static_cast<std::uint32_t>(i)};
    item.spec.arrival = at;
    item.spec.prompt = Tokens{1 + draw.below(draw.chance(30) ? 190 : 50)};
    item.spec.max_tokens = Tokens{1 + draw.below(80)};
    item.spec.adapter = AdapterId{static_cast<std::uint16_t>(draw.below(3))};
    if (draw.chance(60)) {
      const std::int64_t shared = 1 + draw.below(item.spec.prompt.value);
      item.spec.content = {{static_cast<std::uint64_t>(draw.below(3)), Tokens{shared}}};
      if (shared < item.spec.prompt.value)
        item.spec.content.push_back(
            {1000 + static_cast<std::uint64_t>(i), item.spec.prompt - Tokens{shared}});
      item.spec.continues_content = draw.chance(50);
    }
    item.truth.output = Tokens{1 + draw.below(100)};
    if (draw.chance(10)) item.truth.cancel_after = Duration{draw.below(2000) * 1000000};
    if (draw.chance(5)) item.truth.queue_timeout = Duration{draw.below(500) * 1000000};
    items.push_back(item);
  }
  return items;
}

// Whoever reserves needs room for one whole context; more than that may be scarce.
EngineConfig random_engine(const Preset& preset, Draw& draw) {
  EngineConfig config = preset.engine();
  const std::int64_t sizes[] = {1, 4, 16};
  if (draw.chance(60)) config.block_size = Tokens{sizes[draw.below(3)]};
  config.max_model_len = Tokens{200};
  const std::int64_t context = blocks_for(config.max_model_len, config.block_size).value;
  config.num_blocks = Blocks{2 + context + draw.below(4 * context)};
  config.max_num_batched_tokens = Tokens{(config.chunked_prefill ? 20 : 200) + draw.below(200)};
  if (draw.chance(80)) config.max_num_seqs = 1 + draw.below(10);
  if (draw.chance(20)) config.prefix_caching = !config.prefix_caching;
  if (draw.chance(20)) config.in_flight = {2, draw.chance(50)};
  return config;
}

class Bounds final : public Observer {
 public:
  explicit Bounds(const EngineConfig& config) : config_(config) {}
  void on_plan(const StepPlan& plan) override {
    held = plan.held;
    within = within && plan.shape.tokens <= config_.max_num_batched_tokens.value;
    within = within && plan.running <= config_.max_num_seqs;
    within = within && plan.used_blocks + plan.free_blocks == config_.num_blocks - Blocks{1};
    std::int64_t tokens = plan.shape.padding_tokens;
    for (const StepRow& row : plan.rows) {
      within = within && row.tokens.value >= 1;
      tokens += row.tokens.value;
    }
    within = within && (!plan.all_rows || plan.shape.padding_tokens > 0 || tokens == plan.shape.tokens);
    std::int64_t left_out = 0;
    for (const std::int64_t count : plan.held) left_out += count;
    const std::int64_t rows = plan.shape.sequences - plan.shape.padding_sequences;
    within = within && left_out == plan.running + plan.waiting - rows;
  }
  bool within = true;
  std::array<std::int64_t, kNumHeldReasons> held{};

 private:
  const EngineConfig& config_;
};

struct Outcome {
  RunResult result;
  bool within = false;
  std::int64_t used = 0;
};

Outcome run_preset(const std::vector<WorkloadItem>& items,
                   const EngineConfig& config,
                   const RuleNames& names,
                   bool plain) {
  ListSource source(items);
  TestCost cost;
  SimOptions options;
  options.shortcut = !plain;
  SimBackend backend(source, {&cost}, options);
  Outcome outcome;
  EngineConfig engine = config;
  engine.plain_loop = plain;
  Bounds bounds(engine);
  Cluster cluster({{engine}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}),
                  {&outcome.result.collect, &bounds});
  backend.attach(cluster);
  serve(cluster, backend);
  KvGroup& kv = cluster.at(ReplicaId{0}).kv();
  kv.check_all();
  outcome.result.decisions = cluster.decisions_digest();
  outcome.result.timeline = cluster.timeline_digest();
  outcome.result.unfinished = cluster.unfinished();
  outcome.within = bounds.within;
  outcome.used = kv.used().value;
  return outcome;
}

bool reserves(const RuleNames& names) {
  return names.admission == "reserve_context" || names.admission == "conservative" || names.step == "slots" ||
         names.step == "trtllm_guaranteed_no_evict" || names.step == "trtllm_static_batch";
}

}  // namespace

TEST_CASE(
    "every preset serves everyone within its bounds, and decides the same again and with the shortcut") {
  for (const std::string& name : Registry<Preset>::instance().names()) {
    const auto preset = find_preset(name);
    const RuleNames names = preset->rules();
    std::int64_t preemptions = 0;
    bool good = true;
    for (std::uint64_t seed = 1; seed <= 80 && good; ++seed) {
      INFO(name << ", seed " << seed);
      Draw draw(seed);
      const EngineConfig config = random_engine(*preset, draw);
      const std::vector<WorkloadItem> items = random_requests(draw);
      const Outcome plain = run_preset(items, config, names, true);
      const Outcome again = run_preset(items, config, names, true);
      const Outcome fast = run_preset(items, config, names, false);
      CHECK(plain.within);
      CHECK(plain.result.unfinished == 0);
      CHECK(plain.result.collect.records.size() == items.size());
      CHECK(plain.used == 0);
      CHECK(again.result.timeline == plain.result.timeline);
      CHECK(fast.result.timeline == plain.result.timeline);
      CHECK(fast.result.decisions == plain.result.decisions);
      preemptions += plain.result.collect.preemptions;
      good = plain.within && plain.result.unfinished == 0 && plain.used == 0 &&
             fast.result.timeline == plain.result.timeline;
    }
    INFO(name);
    CHECK((preemptions == 0) == reserves(names));
  }
}

}  // namespace servetwin::preset_conformance_test
