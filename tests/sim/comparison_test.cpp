// If these fail, requests are paired wrongly, a difference has the wrong size or sign, or a claim is made
// that the figures do not carry.
#include "sim/planner/comparison.h"

#include <cmath>

#include "tests/support/catch.h"

namespace servetwin::comparison_test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

RequestRow row(std::uint32_t turn, std::int64_t e2e_ms, std::int64_t prompt = 10) {
  RequestRow one;
  one.turn = turn;
  one.id = RequestId{turn};
  one.end_state = EndState::kLength;
  one.prompt = Tokens{prompt};
  one.max_tokens = Tokens{100};
  one.outputs = Tokens{5};
  one.arrival = time_at_ns(turn * kMs);
  one.sojourn = Duration{e2e_ms * kMs};
  one.latencies[static_cast<std::size_t>(Latency::kE2e)] = Duration{e2e_ms * kMs};
  return one;
}

ComparedRun run_of(const std::vector<std::int64_t>& e2e_ms) {
  ComparedRun run;
  run.rows.classes = {"default"};
  for (std::size_t i = 0; i < e2e_ms.size(); ++i) {
    run.rows.rows.push_back(row(static_cast<std::uint32_t>(i), e2e_ms[i]));
  }
  run.figures.classes.resize(1);
  return run;
}

std::vector<GroupValues> compared(const ComparedRun& base, const ComparedRun& own) {
  return compare_runs(base, own, length_bounds(base.rows));
}

constexpr std::size_t kE2eMean = mean_of(Latency::kE2e);

TEST_CASE("paired differences of hand-made requests are these") {
  const ComparedRun base = run_of({10, 20, 30, 40, 50});
  const ComparedRun own = run_of({10, 15, 40, 20, 45});
  const std::vector<GroupValues> groups = compared(base, own);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].pairs == 5);
  CHECK(*groups[0].base[kE2eMean] == 30);
  CHECK(*groups[0].own[kE2eMean] == 26);
  CHECK(*groups[0].base[kE2eMean + 1] == 30);
  CHECK(*groups[0].own[kE2eMean + 1] == 20);
  CHECK(std::fabs(*groups[0].base[kE2eMean + 3] - 49.6) < 1e-9);
  const auto& paired = groups[0].differences[static_cast<std::size_t>(Latency::kE2e)];
  REQUIRE(paired);
  CHECK(paired->mean == -4);  // 0, -5, 10, -20, -5
  CHECK(paired->p50 == -5);
  CHECK(paired->less == 0.6);
  CHECK(paired->more == 0.2);
  CHECK_FALSE(groups[0].base[mean_of(Latency::kTpot)]);
}

TEST_CASE("quarters end at lengths, so equal lengths stay together") {
  const auto bounds = [](const std::vector<std::int64_t>& prompts) {
    RunRows run;
    for (const std::int64_t prompt : prompts) run.rows.push_back(row(0, 1, prompt));
    return length_bounds(run).prompts;
  };
  using Bounds = std::vector<std::int64_t>;
  CHECK(bounds({1, 2, 3, 4, 5, 6, 7, 8}) == Bounds{2, 4, 6});
  CHECK(bounds({5, 5, 5, 5, 5, 9, 9, 20}) == Bounds{5, 9});
  CHECK(bounds({5, 9, 9, 9}) == Bounds{5});
  CHECK(bounds({5, 5}).empty());
  CHECK(bounds({}).empty());
}

TEST_CASE("only requests that finished under both are paired") {
  const ComparedRun base = run_of({10, 20, 30});
  ComparedRun own = run_of({11, 21, 31});
  own.rows.rows[0].end_state = EndState::kRejected;
  own.rows.rows[1].measured = false;
  const std::vector<GroupValues> groups = compared(base, own);
  CHECK(groups[0].pairs == 1);
  CHECK(*groups[0].base[kE2eMean] == 30);
}

TEST_CASE("groups are classes, tenants and quarters by length, each with its own effect") {
  ComparedRun base = run_of({10, 10, 10, 10, 10, 10, 10, 10});
  ComparedRun own = run_of({8, 8, 8, 8, 14, 14, 14, 14});
  for (ComparedRun* run : {&base, &own}) {
    run->rows.classes = {"chat", "document"};
    run->figures.classes.resize(2);
    for (std::size_t i = 0; i < 8; ++i) {
      RequestRow& one = run->rows.rows[i];
      one.traffic_class = ClassId{static_cast<std::uint8_t>(i / 4)};
      one.tenant = TenantId{static_cast<std::uint16_t>(i % 2)};
      one.prompt = Tokens{static_cast<std::int64_t>(100 * (i + 1))};
    }
  }
  const std::vector<GroupValues> groups = compared(base, own);
  std::vector<std::string> names;
  for (const GroupValues& group : groups) names.push_back(group.name);
  CHECK(names == std::vector<std::string>{"all", "class chat", "class document", "tenant 0", "tenant 1",
                                          "prompt q1", "prompt q2", "prompt q3", "prompt q4"});
  const auto change = [&](std::size_t g) { return *groups[g].own[kE2eMean] - *groups[g].base[kE2eMean]; };
  CHECK(change(0) == 1);
  CHECK(change(1) == -2);
  CHECK(change(2) == 4);
  CHECK(change(3) == 1);
  CHECK(change(5) == -2);
  CHECK(change(8) == 4);
  CHECK(groups[5].label == "prompts of up to 200 tokens");
  CHECK(groups[8].label == "prompts over 600 tokens");
  CHECK(groups[8].pairs == 2);
}

// Tenant 0: 2 requests of 15 tokens in 20 ms, 1.5 tokens a ms. Tenant 1: the same tokens in 60 ms, 0.5.
TEST_CASE("fairness is Jain's index of the rates at which tenants are served") {
  ComparedRun base = run_of({10, 30, 10, 30});
  for (std::size_t i = 0; i < 4; ++i) base.rows.rows[i].tenant = TenantId{static_cast<std::uint16_t>(i % 2)};
  const std::size_t jain = index_of(RunMeasure::kFairness);
  CHECK(std::fabs(*compared(base, base)[0].own[jain] - 4.0 / (2 * 2.5)) < 1e-12);
  CHECK_FALSE(compared(run_of({1}), run_of({1}))[0].own[jain]);
}

TEST_CASE("the first request that differs is named with both values") {
  const RunRows a = run_of({10, 20, 30}).rows;
  CHECK_FALSE(first_mismatch(a, a));
  const auto with = [&](auto change) {
    RunRows b = a;
    change(b.rows[1]);
    return first_mismatch(a, b);
  };
  const auto prompt = with([](RequestRow& r) { r.prompt = Tokens{11}; });
  REQUIRE(prompt);
  CHECK(raw(prompt->request) == 1);
  CHECK(prompt->field == "prompt_tokens");
  CHECK((prompt->a == "10" && prompt->b == "11"));
  const auto arrival = with([](RequestRow& r) { r.arrival = time_at_ns(7 * kMs); });
  REQUIRE(arrival);
  CHECK((arrival->field == "arrival" && arrival->a == "0.001 s" && arrival->b == "0.007 s"));
  CHECK(with([](RequestRow& r) { r.outputs = Tokens{6}; })->field == "output_tokens");
  CHECK(with([](RequestRow& r) { r.max_tokens = Tokens{6}; })->field == "max_tokens");
  CHECK(with([](RequestRow& r) { r.tenant = TenantId{3}; })->field == "tenant");
  // What was cut off or turned away has other outputs, and is the same request.
  CHECK_FALSE(with([](RequestRow& r) {
    r.outputs = Tokens{0};
    r.end_state = EndState::kTimedOut;
  }));
}

TEST_CASE("a request that one run lacks is a difference, but for later turns and closed loops") {
  const RunRows a = run_of({10, 20, 30}).rows;
  RunRows b = a;
  b.rows.pop_back();
  const auto missing = first_mismatch(a, b);
  REQUIRE(missing);
  CHECK((raw(missing->request) == 2 && missing->b == "-"));
  CHECK(first_mismatch(b, a)->a == "-");
  RunRows talk_a = a;
  for (RequestRow& one : talk_a.rows) one.session = SessionId{4};
  RunRows talk_b = talk_a;
  talk_b.rows[1].arrival = time_at_ns(9 * kMs);
  talk_b.rows.pop_back();
  CHECK_FALSE(first_mismatch(talk_a, talk_b));
  talk_b.rows[0].arrival = time_at_ns(9 * kMs);
  CHECK(first_mismatch(talk_a, talk_b));
  talk_a.closed_loop = talk_b.closed_loop = true;
  CHECK_FALSE(first_mismatch(talk_a, talk_b));
}

std::vector<SeedValues> seeds_of(const std::vector<std::vector<std::int64_t>>& changes) {
  std::vector<SeedValues> seeds;
  for (std::size_t s = 0; s < changes.front().size(); ++s) {
    const ComparedRun base = run_of({100, 100});
    SeedValues seed;
    seed.variants.push_back(compared(base, base));
    seed.held.emplace_back();
    for (const auto& change : changes) {
      seed.variants.push_back(compared(base, run_of({100 + change[s], 100 + change[s]})));
      seed.held.push_back({{"KV memory", 3.0}});
    }
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

JudgeOptions by_e2e() {
  JudgeOptions options;
  options.judged = {kE2eMean};
  return options;
}

TEST_CASE("variants are found better, worse, not different, and the best is told apart or not") {
  const auto seeds = seeds_of({{-20, -22, -18, -21, -19, -20, -23, -17},
                               {-19, -23, -18, -20, -20, -21, -22, -17},
                               {30, 33, 29, 31, 30, 28, 35, 30},
                               {1, -2, 3, -1, 0, 2, -3, 1},
                               {0, 0, 0, 0, 0, 0, 0, 0}});
  const ComparisonResult result = judge({"base", "a", "b", "worse", "noise", "same"}, 0, seeds, by_e2e());
  const auto finding = [&](std::size_t v) { return result.estimate(v, kE2eMean)->finding; };
  CHECK(finding(0) == Finding::kNotJudged);
  CHECK(finding(1) == Finding::kBetter);
  CHECK(finding(2) == Finding::kBetter);
  CHECK(finding(3) == Finding::kWorse);
  CHECK(finding(4) == Finding::kNotShown);
  CHECK(finding(5) == Finding::kNotShown);
  CHECK(result.estimate(1, kE2eMean)->difference() == -20);
  CHECK(std::fabs(*result.estimate(3, kE2eMean)->relative() - 0.3075) < 1e-12);
  const auto& same = result.estimate(5, kE2eMean)->interval;
  CHECK((same->low == 0 && same->high == 0));
  REQUIRE(result.best);
  CHECK((*result.best == 1 || *result.best == 2));
  CHECK(result.not_told_apart == std::vector<std::size_t>{3 - *result.best});
  REQUIRE(regressions(result).size() == 1);
  CHECK(regressions(result)[0].variant == 3);
  CHECK(result.variants[1].held[0].own == 3);
}

TEST_CASE("with few seeds nothing is found, and a small change is no regression") {
  const auto few = judge({"base", "a"}, 0, seeds_of({{5, 5, 5, 5, 5}}), by_e2e());
  CHECK(few.estimate(1, kE2eMean)->finding == Finding::kTooFewSeeds);
  CHECK(regressions(few).empty());
  JudgeOptions lenient = by_e2e();
  lenient.tolerance = 0.05;
  const auto seeds = seeds_of({{5, 5, 5, 5, 5, 5, 5}});
  CHECK(regressions(judge({"base", "a"}, 0, seeds, by_e2e())).size() == 1);
  CHECK(regressions(judge({"base", "a"}, 0, seeds, lenient)).empty());
}

// Of six seeds that agree the p is 2/64: enough for one claim, and too few for two. Of seven it is 2/128.
TEST_CASE("claims are judged together") {
  const std::vector<std::int64_t> six = {-20, -22, -18, -21, -19, -20};
  const std::vector<std::int64_t> seven = {-20, -22, -18, -21, -19, -20, -17};
  const std::vector<std::int64_t> weak = {-20, -22, -18, -21, -19, -20, 1};
  const auto found = [](const ComparisonResult& result, std::size_t variant) {
    return result.estimate(variant, kE2eMean)->finding;
  };
  CHECK(found(judge({"base", "a"}, 0, seeds_of({six}), by_e2e()), 1) == Finding::kBetter);
  CHECK(found(judge({"base", "a", "b"}, 0, seeds_of({six, six}), by_e2e()), 1) == Finding::kTooFewSeeds);
  const auto two = judge({"base", "a", "b"}, 0, seeds_of({seven, weak}), by_e2e());
  CHECK(found(two, 1) == Finding::kBetter);
  CHECK(*two.estimate(1, kE2eMean)->adjusted_p == 4.0 / 128);
  CHECK(*two.estimate(2, kE2eMean)->p == 4.0 / 128);
  CHECK(found(two, 2) == Finding::kBetter);
  const auto four = judge({"base", "a", "b", "c"}, 0, seeds_of({seven, weak, weak}), by_e2e());
  CHECK(four.estimate(2, kE2eMean)->interval->high < 0);
  CHECK(found(four, 2) == Finding::kNotShown);
}

}  // namespace
}  // namespace servetwin::comparison_test
