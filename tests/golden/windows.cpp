// KV groups with windows: what a request holds as it advances, and who may enter. If one fails, memory grows
// past the window, or a request is kept out for blocks that it would never hold.
#include <algorithm>

#include "tests/support/golden_random.h"
#include "tests/support/golden_rig.h"

namespace servetwin::test_windows {

namespace {

GoldenSetup windowed(std::int64_t blocks, std::vector<KvRetention> groups) {
  GoldenSetup setup = roomy_setup();
  setup.engine.num_blocks = Blocks{blocks};
  setup.engine.prefix_caching = false;
  setup.engine.kv_groups = std::move(groups);
  return setup;
}

KvRetention window_of(std::int64_t window, std::int64_t sink = 0) { return {Tokens{window}, Tokens{sink}}; }

// Blocks of a table whose step has computed up to `end` from `computed` on.
std::int64_t entries(std::int64_t computed, std::int64_t end, std::int64_t window) {
  const std::int64_t unseen = std::max<std::int64_t>(0, computed - window + 1);
  return ceil_div(end, 16) - unseen / 16;
}

}  // namespace

TEST_CASE(
    "a window of 64 holds 5 blocks of 16 however long the answer gets, and whole tables go on growing") {
  for (const bool has_whole : {false, true}) {
    std::vector<KvRetention> groups = {window_of(64)};
    if (has_whole) groups.insert(groups.begin(), KvRetention{});
    on_each(windowed(100, groups), [&](GoldenRig& rig) {
      rig.arrive(request(0, 100, 600));
      std::int64_t computed = 0;
      std::int64_t most = 0;
      for (std::int64_t output = 0; output < 600; ++output) {
        const std::int64_t end = computed == 0 ? 100 : computed + 1;
        REQUIRE(!rig.step().empty());
        const std::int64_t held = rig.last().used - (has_whole ? ceil_div(end, 16) : 0);
        CHECK(held == entries(computed, end, 64));
        if (output > 0) most = std::max(most, held);
        computed = end;
      }
      CHECK(most == 5);
      CHECK(rig.ends() == "0:length:600");
      CHECK(rig.driver().used_blocks() == 0);
    });
  }
}

TEST_CASE("windows of a third of the length let twice as many run without a preemption") {
  const auto preemptions = [](const GoldenSetup& setup) {
    std::int64_t all = 0;
    on_each(setup, [&](GoldenRig& rig) {
      all = 0;
      for (std::uint32_t id = 0; id < 6; ++id) rig.arrive(request(id, 16, 81));
      while (!rig.step().empty()) all += rig.last().preempted.empty() ? 0 : 1;
      CHECK(rig.driver().used_blocks() == 0);
    });
    return all;
  };
  // Six whole tables end with 6 blocks each; a window of 32 holds 3 at most.
  CHECK(preemptions(windowed(19, {})) > 0);
  CHECK(preemptions(windowed(19, {window_of(32)})) == 0);
  CHECK(preemptions(windowed(18, {window_of(32)})) > 0);
}

TEST_CASE("the gate counts for a window what it holds at once: 32 blocks of a whole table and 13 of 32") {
  std::vector<KvRetention> groups = {{}, window_of(64)};
  for (const std::int64_t usable : {45, 44}) {
    GoldenSetup setup = windowed(usable + 1, groups);
    setup.engine.max_num_batched_tokens = Tokens{128};
    setup.engine.max_model_len = Tokens{1024};
    on_each(setup, [&](GoldenRig& rig) {
      rig.arrive(request(0, 512, 2));
      if (usable == 44) {
        CHECK(rig.step().empty());
        CHECK(rig.ends() == "0:rejected:0");
        return;
      }
      for (const std::int64_t used : {16, 32 - 4, 48 - 12, 64 - 20}) {
        CHECK(rig.step() == "0:128");
        CHECK(rig.last().used == used);
      }
      CHECK(rig.step() == "0:1");
      CHECK(rig.last().used == 33 + 5);
      CHECK(rig.ends() == "0:length:2");
    });
  }
}

TEST_CASE("the block of the sinks stays while the window rolls, and its table holds one block more") {
  GoldenSetup setup = windowed(50, {window_of(12, 4)});
  setup.engine.block_size = Tokens{4};
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(request(0, 4, 200));
    CHECK(rig.step() == "0:4");
    const auto first = rig.driver().block_ids(RequestId{0});
    std::int64_t most = 0;
    while (!rig.step().empty()) {
      most = std::max(most, rig.last().used);
      const auto ids = rig.driver().block_ids(RequestId{0});
      if (!ids || ids->empty()) continue;
      CHECK(ids->front() == first->front());
      CHECK(std::ssize(*ids) - std::count(ids->begin(), ids->end(), 0) == rig.last().used);
    }
    CHECK(most == 1 + 4);
    CHECK(rig.ends() == "0:length:200");
  });
}

TEST_CASE("a window finds what it sees of an ended request, though the beginning was passed and evicted") {
  for (const std::int64_t window : {33, 0}) {
    GoldenSetup setup = windowed(21, {window_of(window)});
    setup.engine.prefix_caching = true;
    setup.engine.max_num_batched_tokens = Tokens{64};
    on_each(setup, [&](GoldenRig& rig) {
      rig.arrive(request_of(0, {{7, Tokens{320}}}, 1));
      for (int chunk = 0; chunk < 5; ++chunk) CHECK(rig.step() == "0:64");
      // Takes ten blocks: with a window those that were given back first.
      rig.arrive(request_of(1, {{8, Tokens{160}}}, 1));
      while (!rig.step().empty()) {
      }
      rig.arrive(request_of(2, {{7, Tokens{320}}}, 1));
      CHECK(rig.step() == (window > 0 ? "2:16" : "2:64"));
      CHECK(rig.hits() == (window > 0 ? "2:304" : "2:160"));
      if (window > 0) CHECK(rig.last().used == 3);  // two that the window sees, and its own
    });
  }
}

TEST_CASE("the random scenarios with windows give blocks back, and are rich in hits and preemptions") {
  std::int64_t preemptions = 0;
  std::int64_t hits = 0;
  std::int64_t below = 0;  // steps that hold less than whole tables would
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    GoldenScenario scenario = random_windowed_scenario(seed, 1, false);
    const GoldenRun run = run_scenario(*make_naive_driver(scenario.setup), scenario);
    REQUIRE(run.ends.size() == scenario.jobs.size());
    for (const EndTrace& end : run.ends) preemptions += end.preemptions;
    for (const StepTrace& step : run.steps) {
      for (const auto& row : step.admitted) hits += row.second;
    }
    EngineConfig& engine = scenario.setup.engine;
    engine.num_blocks = Blocks{5000};
    engine.prefix_caching = false;
    const GoldenRun roomy = run_scenario(*make_naive_driver(scenario.setup), scenario);
    engine.kv_groups.assign(engine.kv_groups.size(), {});
    const GoldenRun whole = run_scenario(*make_naive_driver(scenario.setup), scenario);
    REQUIRE(roomy.steps.size() == whole.steps.size());
    for (std::size_t i = 0; i < roomy.steps.size(); ++i) below += roomy.steps[i].used < whole.steps[i].used;
  }
  CHECK(preemptions > 100);
  CHECK(hits > 500);
  CHECK(below > 500);
}

}  // namespace servetwin::test_windows
