// If these fail, variants do not see the same requests, the number of threads changes an answer, or the
// answer contradicts what is known of the systems compared.
#include "scenarios/comparison_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "scenarios/comparison_report.h"
#include "tests/support/catch.h"

namespace servetwin::comparison_run_test {
namespace {

ComparisonPlan plan_of(const std::string& spec) {
  return parse_comparison("apiVersion: servetwin/v1\nkind: Comparison\nmetadata: {name: c}\nspec:\n" + spec,
                          "c.yaml");
}

ComparisonOutcome outcome_of(const std::string& spec, int threads = 2) {
  ComparisonRunOptions options;
  options.threads = threads;
  return run_comparison(plan_of(spec), options);
}

// Short of KV memory, and over within seconds.
const std::string kStarved =
    "  base: preemption\n  set: {workload.duration: 30s}\n  seeds: 6\n  judge: [e2e.mean, ttft.p99]\n"
    "  variants:\n    - {name: optimistic}\n    - {name: reserved, set: {engine.rules.admission: "
    "conservative}}\n"
    "    - {name: watermark, set: {engine.watermark: 0.05}}\n";

double own(const ComparisonOutcome& outcome, std::size_t variant, std::size_t measure) {
  return outcome.result->estimate(variant, measure)->own;
}

TEST_CASE("any number of threads gives the same bytes") {
  const ComparisonOutcome one = outcome_of(kStarved, 1);
  const std::string json = comparison_json(one);
  const std::string csv = comparison_csv(one);
  for (const int threads : {2, 4, 32}) {
    const ComparisonOutcome other = outcome_of(kStarved, threads);
    CHECK(comparison_json(other) == json);
    CHECK(comparison_csv(other) == csv);
    CHECK(comparison_table(other) == comparison_table(one));
  }
}

TEST_CASE("the reservation never preempts, and the watermark preempts several times less") {
  const ComparisonOutcome outcome = outcome_of(kStarved);
  const std::size_t preemptions = index_of(RunMeasure::kPreemptions);
  CHECK(own(outcome, 0, preemptions) > 30);
  CHECK(own(outcome, 1, preemptions) == 0);
  CHECK(own(outcome, 2, preemptions) * 3 < own(outcome, 0, preemptions));
  CHECK(outcome.result->estimate(2, preemptions)->interval->high < 0);
  CHECK(outcome.runs.size() == 18);
  CHECK(outcome.runs[0].evidence == "analytic");
}

TEST_CASE("the parts of E2E add up to its change") {
  const ComparisonOutcome outcome = outcome_of(kStarved);
  for (std::size_t v = 0; v < 3; ++v) {
    double sum = 0;
    for (const Latency part : {Latency::kFrontEnd, Latency::kQueue, Latency::kPreempted, Latency::kInBatch}) {
      sum += outcome.result->estimate(v, mean_of(part))->difference();
    }
    CHECK(std::fabs(sum - outcome.result->estimate(v, mean_of(Latency::kE2e))->difference()) < 1e-6);
  }
}

TEST_CASE("variants that do the same differ by exactly nothing, and nothing is claimed") {
  const ComparisonOutcome outcome = outcome_of(
      "  base: preemption\n  set: {workload.duration: 10s}\n  seeds: 8\n"
      "  variants:\n    - {name: a}\n    - {name: b, set: {engine.max_queued: 100000}}\n");
  for (const GroupResult& group : outcome.result->variants[1].groups) {
    for (const auto& one : group.estimates) {
      if (!one) continue;
      CHECK(one->difference() == 0);
      CHECK((one->interval->low == 0 && one->interval->high == 0));
    }
  }
  const std::string verdict = verdict_sentence(outcome);
  CHECK(verdict.find("nothing is shown to be better than a") == 0);
  CHECK(verdict.find("No difference at all from a: b") != std::string::npos);
  CHECK(outcome.runs[0].timeline_digest == outcome.runs[1].timeline_digest);
}

// A gap of a decoder is as long as the step it waits for: with whole prompts in a step one in twenty is.
TEST_CASE("chunked prefill is found to lower the ITL p99 under long prompts") {
  const ComparisonOutcome outcome = outcome_of(
      "  base: chunked_prefill\n"
      "  set:\n    workload.duration: 30s\n    workload.arrivals.rate: 5/s\n    workload.classes[0].weight: "
      "0.5\n"
      "    workload.classes[1]: {weight: 0.5, lengths: {input: {low: 3000, high: 5000}}}\n"
      "  seeds: 6\n  judge: [itl.p99]\n  variants:\n"
      "    - {name: whole, set: {engine: {chunked_prefill: false, max_num_batched_tokens: 32768}}}\n"
      "    - {name: chunked, set: {engine.max_num_batched_tokens: 512}}\n");
  REQUIRE(outcome.result->best);
  CHECK(*outcome.result->best == 1);
  CHECK(*outcome.result->estimate(1, index_of(RunMeasure::kItlP99))->relative() < -0.5);
  CHECK(verdict_sentence(outcome).find("chunked is better than whole: ITL p99") == 0);
  CHECK(outcome.result->variants[1].groups.size() > 6);
}

TEST_CASE("variants that change the requests are refused, and the first is named") {
  const auto problem = [](const std::string& set) {
    try {
      outcome_of(
          "  base: preemption\n  set: {workload.duration: 10s}\n  seeds: 2\n"
          "  variants:\n    - {name: a}\n    - {name: b, set: {" +
          set + "}}\n");
    } catch (const ConfigError& error) {
      return error.problems().front();
    }
    return Problem{};
  };
  const Problem rate = problem("workload.arrivals.rate: 7/s");
  CHECK(rate.code == "CMP001");
  CHECK(rate.message.find("request 0, arrival") != std::string::npos);
  const Problem lengths = problem("workload.lengths.input.high: 257");
  CHECK(lengths.code == "CMP001");
  CHECK(lengths.message.find("prompt_tokens") != std::string::npos);
  CHECK(problem("slo.ttft: 2s").code == "CMP003");
  CHECK(problem("workload.max_tokens: {fixed: 1100}").message.find("max_tokens 1200 there and 1100 here") !=
        std::string::npos);
}

TEST_CASE("conversations are paired by turn, though their later turns come at other times") {
  const std::string talk =
      "  base: preemption\n"
      "  set: {workload: {duration: 20s, sessions: {turns: 3, think_time: {mean: 1s}}}, engine.max_num_seqs: "
      "64}\n"
      "  seeds: 6\n  variants:\n    - {name: a}\n    - {name: b, set: {engine.max_num_seqs: 4}}\n";
  const ComparisonOutcome outcome = outcome_of(talk);
  CHECK(outcome.result->variants[1].all().pairs > 200);
  CHECK(outcome.runs[0].timeline_digest != outcome.runs[1].timeline_digest);
}

TEST_CASE("a closed loop without conversations has nothing to pair") {
  try {
    outcome_of(
        "  base: preemption\n"
        "  set: {workload: {arrivals: null, duration: 5s, closed_loop: {users: 4}}}\n"
        "  seeds: 1\n  variants:\n    - {name: a}\n    - {name: b, set: {engine.max_num_seqs: 2}}\n");
    FAIL("compared");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().code == "CMP002");
  }
}

TEST_CASE("a better variant's price is told with it") {
  ComparisonOutcome outcome;
  const auto seeds = [](double e2e, double ttft) {
    GroupValues base;
    base.name = "all";
    base.base[mean_of(Latency::kE2e)] = base.own[mean_of(Latency::kE2e)] = 1000;
    base.base[mean_of(Latency::kTtft)] = base.own[mean_of(Latency::kTtft)] = 100;
    GroupValues own = base;
    own.own[mean_of(Latency::kE2e)] = e2e;
    own.own[mean_of(Latency::kTtft)] = ttft;
    GroupValues documents = own;
    documents.name = documents.label = "class document";
    documents.own[mean_of(Latency::kE2e)] = 1100;
    return SeedValues{{{base}, {own, documents}}, {{{"KV memory", 40.0}}, {{"KV memory", 7.0}}}};
  };
  JudgeOptions options;
  options.judged = {mean_of(Latency::kE2e), mean_of(Latency::kTtft)};
  outcome.result = judge({"a", "b"}, 0, std::vector<SeedValues>(8, seeds(900, 150)), options);
  CHECK(
      verdict_sentence(outcome) ==
      "b is better than a: E2E mean 900 ms against 1.00 s, -10.0 % (95 % interval -10.0 to -10.0, 8 seeds); "
      "but worse in TTFT mean (+50.0 %); it costs class document (+10.0 % E2E mean); why: KV memory held "
      "back 7 "
      "request-seconds against 40");
}

TEST_CASE("one seed tells what happened, and finds nothing") {
  const ComparisonOutcome outcome = outcome_of(
      "  base: preemption\n  set: {workload.duration: 20s}\n  seeds: 1\n  judge: [e2e.mean]\n"
      "  variants:\n    - {name: a}\n    - {name: b, set: {engine.num_blocks: 20000}}\n");
  CHECK(outcome.result->estimate(1, mean_of(Latency::kE2e))->finding == Finding::kTooFewSeeds);
  CHECK_FALSE(outcome.result->estimate(1, mean_of(Latency::kE2e))->interval);
  const std::string verdict = verdict_sentence(outcome);
  CHECK(verdict.find("1 seed, too few for a finding (6 are needed)") != std::string::npos);
  CHECK(verdict.find("better") == std::string::npos);
}

// Steps of 10 ms, known by hand: the short prompt waits for 13 steps behind the long one, or for none.
TEST_CASE("a limit on long prompts serves the short one 13 steps earlier and the long one 15 later") {
  const std::filesystem::path folder = std::filesystem::path(SERVETWIN_DATA_DIR) / "../cases/files/sched";
  if (!std::filesystem::exists(folder / "S01a.yaml")) {
    WARN("skipped: no " << folder);
    return;
  }
  ComparisonOverrides overrides;
  overrides.seeds = "1";
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const ComparisonOutcome outcome =
      run_comparison(plan_comparison({path("S01a.yaml"), path("S01b.yaml")}, overrides), {});
  const std::vector<GroupResult>& groups = outcome.result->variants[1].groups;
  REQUIRE(groups.size() == 3);
  const auto ttft = [&](std::size_t group) { return *groups[group].estimates[mean_of(Latency::kTtft)]; };
  CHECK(groups[1].label == "prompts of up to 200 tokens");
  CHECK((ttft(1).base == 145 && ttft(1).own == 15));
  CHECK((ttft(2).base == 150 && ttft(2).own == 300));
  CHECK(groups[1].estimates[mean_of(Latency::kQueue)]->own == 5);
}

TEST_CASE("a comparison that is stopped tells of the seeds that were whole") {
  volatile bool stop = false;
  ComparisonRunOptions options;
  options.stop = &stop;
  options.progress = [&](int done, int) { stop = done >= 5; };
  const ComparisonOutcome some = run_comparison(plan_of(kStarved), options);
  CHECK_FALSE(some.complete);
  REQUIRE(some.result);
  CHECK(some.result->seeds == 1);
  CHECK(verdict_sentence(some).find("incomplete, 1 whole seeds: ") == 0);
  stop = true;
  const ComparisonOutcome none = run_comparison(plan_of(kStarved), options);
  CHECK_FALSE(none.result);
  CHECK(comparison_json(none).find("\"complete\": false") != std::string::npos);
}

}  // namespace
}  // namespace servetwin::comparison_run_test
