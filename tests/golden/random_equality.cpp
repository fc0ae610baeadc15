// Random small worlds, step by step. If one fails, the core decided something that the rules, read literally,
// do not.
#include <map>

#include "tests/support/golden_random.h"
#include "tests/support/golden_rig.h"

namespace servetwin::test_random_equality {

namespace {

struct Depth {
  int depth;
  bool speculate;
};

constexpr Depth kDepths[] = {{1, false}, {2, false}, {2, true}};

// Block ids are compared where both show them.
bool same(StepTrace ours, const StepTrace& theirs) {
  if (!theirs.free_ids) ours.free_ids.reset();
  return ours == theirs;
}

std::string first_difference(const GoldenRun& ours, const GoldenRun& theirs) {
  std::string text;
  for (std::size_t i = 0; i < std::max(ours.steps.size(), theirs.steps.size()); ++i) {
    if (i < ours.steps.size() && i < theirs.steps.size() && same(ours.steps[i], theirs.steps[i])) continue;
    if (i > 0) text += "after " + to_text(ours.steps[i - 1]) + '\n';
    text += "naive " + (i < ours.steps.size() ? to_text(ours.steps[i]) : "none") + '\n';
    return text + "core  " + (i < theirs.steps.size() ? to_text(theirs.steps[i]) : "none") + '\n';
  }
  for (std::size_t i = 0; i < std::max(ours.ends.size(), theirs.ends.size()); ++i) {
    if (i < ours.ends.size() && i < theirs.ends.size() && ours.ends[i] == theirs.ends[i]) continue;
    text += "naive end " + (i < ours.ends.size() ? to_text(ours.ends[i]) : "none") + '\n';
    return text + "core  end " + (i < theirs.ends.size() ? to_text(theirs.ends[i]) : "none") + '\n';
  }
  return text;
}

// Empty if both do the same.
std::string compare(const GoldenScenario& scenario, const GoldenKind& kind) {
  const GoldenRun expected = run_scenario(*make_naive_driver(scenario.setup), scenario);
  try {
    return first_difference(expected, run_scenario(*kind.make(scenario.setup), scenario));
  } catch (const std::exception& broken) {
    return broken.what();
  }
}

// Drops requests that are not needed for the difference.
GoldenScenario minimal(GoldenScenario scenario, const GoldenKind& kind) {
  for (std::size_t i = scenario.jobs.size(); i-- > 0 && scenario.jobs.size() > 1;) {
    GoldenScenario smaller = scenario;
    smaller.jobs.erase(smaller.jobs.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::uint32_t id = 0; id < smaller.jobs.size(); ++id) smaller.jobs[id].spec.id = RequestId{id};
    if (!compare(smaller, kind).empty()) scenario = smaller;
  }
  return scenario;
}

void check_equal(std::uint64_t first_seed, std::uint64_t count) {
  for (const GoldenKind& kind : golden_kinds()) {
    if (kind.make == make_naive_driver) continue;
    for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
      const Depth& in_flight = kDepths[seed % 3];
      const GoldenScenario scenario = random_scenario(seed, in_flight.depth, in_flight.speculate);
      if (compare(scenario, kind).empty()) continue;
      const GoldenScenario small = minimal(scenario, kind);
      FAIL("seed " << seed << " on the " << kind.name << '\n' << to_text(small) << compare(small, kind));
    }
  }
}

}  // namespace

TEST_CASE("random scenarios are scheduled as the rules say, step by step") { check_equal(0, 3000); }

TEST_CASE("many random scenarios are scheduled as the rules say, step by step", "[slow]") {
  check_equal(1000000, 30000);
}

TEST_CASE("the shortcut gives the digests of the plain loop") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const GoldenScenario scenario = random_scenario(seed, 1, false);
    const GoldenRun plain = run_scenario(*make_core<true>(scenario.setup), scenario);
    const GoldenRun shortcut = run_scenario(*make_core<false>(scenario.setup), scenario);
    INFO("seed " << seed << '\n' << to_text(scenario));
    REQUIRE(plain.digests == shortcut.digests);
  }
}

TEST_CASE("the oracle keeps the invariants and leaves nobody behind") {
  std::int64_t preemptions = 0;
  std::int64_t hits = 0;
  std::int64_t out = 0;
  std::int64_t back = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Depth& in_flight = kDepths[seed % 3];
    const GoldenScenario scenario = random_scenario(seed, in_flight.depth, in_flight.speculate);
    const EngineConfig& engine = scenario.setup.engine;
    const GoldenRun run = run_scenario(*make_naive_driver(scenario.setup), scenario);
    INFO("seed " << seed << '\n' << to_text(scenario));
    std::map<RequestId, int> ended;
    for (const EndTrace& end : run.ends) {
      ++ended[end.request];
      preemptions += end.preemptions;
    }
    REQUIRE(ended.size() == scenario.jobs.size());
    REQUIRE(run.ends.size() == scenario.jobs.size());
    for (const StepTrace& step : run.steps) {
      std::int64_t tokens = 0;
      for (const auto& row : step.tokens) tokens += row.second;
      for (const auto& row : step.admitted) hits += row.second;
      for (const auto& copy : step.swapped_out) out += copy.second;
      for (const auto& copy : step.swapped_in) back += copy.second;
      REQUIRE(tokens <= engine.max_num_batched_tokens.value);
      REQUIRE(std::ssize(step.tokens) <= engine.max_num_seqs);
      REQUIRE(step.used + step.free == engine.num_blocks.value - 1);
    }
  }
  CHECK(preemptions > 500);
  CHECK(hits > 5000);
  CHECK(out > 2000);
  CHECK(back > 1000);
}

}  // namespace servetwin::test_random_equality
