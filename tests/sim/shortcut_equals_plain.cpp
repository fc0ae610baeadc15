// If this fails, the decode shortcut changes results: the fast simulation would no longer be the plain one.
#include "tests/sim/draw.h"
#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"

namespace servetwin::test_shortcut_equals_plain {

using namespace test;

namespace {

struct Scenario {
  std::vector<WorkloadItem> items;
  EngineConfig config;
  RuleNames names;
  int replicas = 1;
  const char* router = "round_robin";
};

std::vector<ContentSegment> random_content(Draw& draw, std::int64_t prompt) {
  std::vector<ContentSegment> content;
  std::int64_t left = prompt;
  while (left > 0 && draw.chance(70)) {
    const std::int64_t length =
        std::min<std::int64_t>(left, (1 + draw.below(6)) * (draw.chance(50) ? 16 : 5));
    content.push_back({static_cast<std::uint64_t>(draw.below(4)), Tokens{length}});
    left -= length;
  }
  if (left > 0 && !content.empty())
    content.push_back({1000000 + static_cast<std::uint64_t>(draw.below(1000000)), Tokens{left}});
  return content;
}

Scenario random_scenario(std::uint64_t seed) {
  Draw draw(seed);
  Scenario s;
  const std::int64_t sizes[] = {1, 4, 7, 16, 32};
  s.config.block_size = Tokens{sizes[draw.below(5)]};
  s.config.max_model_len = Tokens{draw.chance(30) ? 220 : 2000};
  s.config.num_blocks = Blocks{2 + (draw.chance(50) ? 600 : 3000) / s.config.block_size.value};
  s.config.max_num_batched_tokens = Tokens{20 + draw.below(400)};
  s.config.max_num_seqs = 1 + draw.below(draw.chance(50) ? 6 : 40);
  s.config.prefix_caching = draw.chance(70);
  s.config.chunked_prefill = draw.chance(85);
  s.config.long_prefill_token_threshold = Tokens{draw.chance(30) ? 1 + draw.below(60) : 0};
  s.config.watermark = draw.chance(20) ? 0.05 : 0.0;
  s.config.full_sequence_gate = draw.chance(70);
  if (draw.chance(30)) s.config.graph_sizes = {1, 2, 4, 8, 16, 24};
  if (draw.chance(30)) s.names = RuleNames{"priority", "running_first", "optimistic", "least_important"};
  if (draw.chance(15)) s.names.admission = "conservative";
  const std::vector<std::string> batches = Registry<BatchRule>::instance().names();
  if (draw.chance(60)) s.names.batch = batches[static_cast<std::size_t>(draw.below(std::ssize(batches)))];
  if (draw.chance(30)) s.replicas = 1 + static_cast<int>(draw.below(4));
  const char* routers[] = {"round_robin", "least_outstanding", "late_binding"};
  s.router = routers[draw.below(3)];
  const std::int64_t count = 5 + draw.below(60);
  const std::int64_t mean_gap = 1 + draw.below(draw.chance(50) ? 400 : 40);
  Time at = kTimeZero;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!draw.chance(20)) at += Duration{draw.below(2 * mean_gap) * 1000000};
    WorkloadItem item;
    item.spec.id = RequestId{static_cast<std::uint32_t>(i)};
    item.spec.arrival = at;
    item.spec.prompt = Tokens{1 + draw.below(draw.chance(30) ? 400 : 100)};
    item.spec.max_tokens = Tokens{1 + draw.below(120)};
    item.spec.priority = static_cast<std::int32_t>(draw.below(3));
    item.spec.stat_group = static_cast<std::uint8_t>(draw.below(3));
    if (draw.chance(60)) item.spec.content = random_content(draw, item.spec.prompt.value);
    if (draw.chance(10)) item.spec.cache_salt = static_cast<std::uint64_t>(draw.below(2));
    item.truth.output = Tokens{1 + draw.below(150)};
    if (draw.chance(15)) item.truth.cancel_after = Duration{draw.below(3000) * 1000000};
    if (draw.chance(10)) item.truth.queue_timeout = Duration{draw.below(500) * 1000000};
    if (draw.chance(10)) item.truth.ttft_timeout = Duration{draw.below(900) * 1000000};
    s.items.push_back(item);
  }
  if (draw.chance(40)) {
    s.config.host_blocks = Blocks{1 + draw.below(2 * s.config.num_blocks.value)};
    s.names.pressure = "swap";
  }
  return s;
}

void require_equal(const RunResult& fast, const RunResult& plain) {
  CHECK(fast.decisions == plain.decisions);
  CHECK(fast.timeline == plain.timeline);
  CHECK(fast.unfinished == plain.unfinished);
  CHECK(fast.collect.steps == plain.collect.steps);
  CHECK(fast.collect.tokens == plain.collect.tokens);
  CHECK(fast.collect.preemptions == plain.collect.preemptions);
  CHECK((fast.collect.gap_time == plain.collect.gap_time));
  CHECK(fast.collect.gap_count == plain.collect.gap_count);
  REQUIRE(fast.collect.records.size() == plain.collect.records.size());
  std::vector<RequestRecord> a = fast.collect.records;
  std::vector<RequestRecord> b = plain.collect.records;
  const auto by_id = [](const RequestRecord& x, const RequestRecord& y) { return x.id < y.id; };
  std::sort(a.begin(), a.end(), by_id);
  std::sort(b.begin(), b.end(), by_id);
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("request " << raw(a[i].id));
    CHECK(a[i].end_state == b[i].end_state);
    CHECK(a[i].outputs == b[i].outputs);
    CHECK(a[i].cached == b[i].cached);
    CHECK(a[i].recomputed == b[i].recomputed);
    CHECK(a[i].preemptions == b[i].preemptions);
    CHECK(to_ns(a[i].first_scheduled) == to_ns(b[i].first_scheduled));
    CHECK(to_ns(a[i].first_token) == to_ns(b[i].first_token));
    CHECK(to_ns(a[i].last_token) == to_ns(b[i].last_token));
    CHECK(to_ns(a[i].end) == to_ns(b[i].end));
    CHECK(a[i].preempted.count() == b[i].preempted.count());
    CHECK(a[i].head_of_line.count() == b[i].head_of_line.count());
    CHECK(a[i].held_at_end == b[i].held_at_end);
    CHECK(a[i].waste_at_end == b[i].waste_at_end);
  }
}

}  // namespace

TEST_CASE("the decode shortcut gives the plain loop's digests, records and sums on random scenarios") {
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Scenario s = random_scenario(seed);
    INFO("seed " << seed);
    const RunResult plain = run(s.items, s.config, true, s.names, s.replicas, s.router);
    const RunResult fast = run(s.items, s.config, false, s.names, s.replicas, s.router);
    require_equal(fast, plain);
    preemptions += plain.collect.preemptions;
    if (fast.timeline != plain.timeline) break;
  }
  CHECK(preemptions > 1000);
}

}  // namespace servetwin::test_shortcut_equals_plain
