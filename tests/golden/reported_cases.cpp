// What users of serving engines reported, in small. If one fails, head-of-line blocking, eviction order,
// length limits or sharing between n samples of a prompt come out differently from the stated rules.
#include <map>

#include "tests/support/golden_rig.h"

namespace servetwin::test_reported_cases {

namespace {

using std::chrono::milliseconds;

// A request, present when step `arrive_step` is planned, running to its length.
GoldenJob job(RequestSpec spec, std::int64_t arrive_step) {
  spec.arrival = arrive_step == 1 ? kTimeZero : kTimeZero + milliseconds((arrive_step - 1) * 10 - 5);
  return {spec, spec.max_tokens.value + 1, kTimeNever, kTimeNever};
}

struct Outcome {
  GoldenRun run;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> token_steps;  // first and last

  const StepTrace& step(std::size_t number) const { return run.steps.at(number - 1); }
  std::string tokens(std::size_t number) const { return to_text(step(number).tokens); }

  std::int64_t scheduled() const {
    std::int64_t sum = 0;
    for (const StepTrace& s : run.steps) {
      for (const auto& row : s.tokens) sum += row.second;
    }
    return sum;
  }

  std::int64_t peak_blocks() const {
    std::int64_t peak = 0;
    for (const StepTrace& s : run.steps) peak = std::max(peak, s.used);
    return peak;
  }

  std::string ends() const {
    std::string text;
    for (const EndTrace& end : run.ends)
      text += to_string(end.state) + (":" + std::to_string(end.outputs)) + " ";
    return text;
  }
};

void on_each_run(const GoldenScenario& scenario, const std::function<void(const Outcome&)>& body) {
  for (const GoldenKind& kind : golden_kinds()) {
    INFO("on the " << kind.name);
    Outcome outcome{run_scenario(*kind.make(scenario.setup), scenario), {}};
    for (const StepTrace& step : outcome.run.steps) {
      for (const RequestId id : step.sampled) {
        const auto known = outcome.token_steps.emplace(raw(id), std::pair{step.step, step.step}).first;
        known->second.second = step.step;
      }
    }
    body(outcome);
  }
}

GoldenScenario scenario_of(const GoldenSetup& setup) { return {setup, {}, {milliseconds(10)}}; }

GoldenScenario long_then_short(std::int64_t threshold) {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_batched_tokens = Tokens{4096};
  setup.engine.max_model_len = Tokens{131072};
  setup.engine.num_blocks = Blocks{100000};
  setup.engine.prefix_caching = false;
  setup.engine.long_prefill_token_threshold = Tokens{threshold};
  GoldenScenario scenario = scenario_of(setup);
  scenario.jobs = {job(request(0, 60000, 8), 1), job(request(1, 200, 8), 2)};
  return scenario;
}

GoldenScenario four_samples(bool cache, std::int64_t blocks) {
  GoldenSetup setup = roomy_setup();
  setup.engine.prefix_caching = cache;
  setup.engine.num_blocks = Blocks{blocks};
  GoldenScenario scenario = scenario_of(setup);
  for (std::uint32_t id = 0; id < 4; ++id)
    scenario.jobs.push_back(job(request_of(id, {{9, Tokens{100}}}, 10), 1));
  return scenario;
}

}  // namespace

TEST_CASE("a long prompt starves a short one for 14 steps without a threshold") {
  on_each_run(long_then_short(0), [](const Outcome& outcome) {
    CHECK(outcome.run.steps.size() == 22);
    for (std::size_t step = 1; step <= 14; ++step) CHECK(outcome.tokens(step) == "0:4096");
    CHECK(outcome.tokens(15) == "0:2656 1:200");
    CHECK(outcome.tokens(16) == "0:1 1:1");
    CHECK(outcome.token_steps.at(0) == std::pair<std::int64_t, std::int64_t>{15, 22});
    CHECK(outcome.token_steps.at(1) == std::pair<std::int64_t, std::int64_t>{15, 22});
    CHECK(outcome.scheduled() == 60214);
    CHECK(outcome.step(3).used == 768);
    CHECK(outcome.step(15).used == 3763);
    CHECK(outcome.peak_blocks() == 3764);
  });
}

TEST_CASE("a long-prefill threshold lets the short prompt in at once") {
  on_each_run(long_then_short(2048), [](const Outcome& outcome) {
    CHECK(outcome.run.steps.size() == 37);
    CHECK(outcome.tokens(1) == "0:2048");
    CHECK(outcome.tokens(2) == "0:2048 1:200");
    CHECK(outcome.tokens(3) == "0:2048 1:1");
    CHECK(outcome.tokens(15) == "0:2048");
    CHECK(outcome.tokens(30) == "0:608");
    CHECK(outcome.tokens(31) == "0:1");
    CHECK(outcome.token_steps.at(0) == std::pair<std::int64_t, std::int64_t>{30, 37});
    CHECK(outcome.token_steps.at(1) == std::pair<std::int64_t, std::int64_t>{2, 9});
    CHECK(outcome.scheduled() == 60214);
    const std::pair<std::size_t, std::int64_t> used[] = {{1, 128},   {2, 269},   {3, 397},  {15, 1920},
                                                         {16, 2048}, {30, 3750}, {31, 3751}};
    for (const auto& [step, blocks] : used) CHECK(outcome.step(step).used == blocks);
    CHECK(outcome.peak_blocks() == 3751);
  });
}

TEST_CASE("a finished sequence makes room for the next one in the following step") {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_seqs = 4;
  setup.engine.prefix_caching = false;
  GoldenScenario scenario = scenario_of(setup);
  for (std::uint32_t id = 0; id < 5; ++id) scenario.jobs.push_back(job(request(id, 8, id == 0 ? 2 : 4), 1));
  on_each_run(scenario, [](const Outcome& outcome) {
    const char* expected[] = {
        "0:8 1:8 2:8 3:8", "0:1 1:1 2:1 3:1", "1:1 2:1 3:1 4:8", "1:1 2:1 3:1 4:1", "4:1", "4:1"};
    REQUIRE(outcome.run.steps.size() == 6);
    for (std::size_t step = 1; step <= 6; ++step) {
      CHECK(outcome.tokens(step) == expected[step - 1]);
      CHECK(outcome.step(step).used == (step <= 4 ? 4 : 1));
    }
  });
}

TEST_CASE("a stranger evicts the tail of a cached prompt, never its head") {
  const std::pair<std::int64_t, std::int64_t> stranger_and_hit[] = {{10, 48}, {20, 32}};
  for (const auto& pair : stranger_and_hit) {
    GoldenSetup setup = roomy_setup();
    setup.engine.num_blocks = Blocks{5};
    GoldenScenario scenario = scenario_of(setup);
    scenario.jobs = {job(request_of(0, {{1, Tokens{64}}}, 1), 1),
                     job(request_of(1, {{2, Tokens{pair.first}}}, 1), 2),
                     job(request_of(2, {{1, Tokens{64}}}, 1), 3)};
    on_each_run(scenario, [hit = pair.second](const Outcome& outcome) {
      REQUIRE(outcome.run.steps.size() == 3);
      CHECK(to_text(outcome.step(3).admitted) == "2:" + std::to_string(hit));
      CHECK(outcome.tokens(3) == "2:" + std::to_string(64 - hit));
      CHECK(outcome.step(1).used == 4);
      CHECK(outcome.step(2).used == (hit == 48 ? 1 : 2));
      CHECK(outcome.step(3).used == 4);
    });
  }
}

TEST_CASE("a prompt is admissible if it is shorter than the context, and outputs stop at the context") {
  struct Row {
    std::int64_t prompt, asked;
    const char* end;
    std::size_t steps;
  };
  const Row rows[] = {{16, 10, "rejected:0 ", 0},
                      {15, 10, "length:1 ", 1},
                      {14, 10, "length:2 ", 2},
                      {13, 3, "length:3 ", 3},
                      {13, 4, "length:3 ", 3}};
  for (const Row& row : rows) {
    GoldenSetup setup = roomy_setup();
    setup.engine.max_num_batched_tokens = Tokens{64};
    setup.engine.max_model_len = Tokens{16};
    setup.engine.num_blocks = Blocks{100};
    setup.engine.prefix_caching = false;
    GoldenScenario scenario = scenario_of(setup);
    scenario.jobs = {job(request(0, row.prompt, row.asked), 1)};
    on_each_run(scenario, [&row](const Outcome& outcome) {
      CHECK(outcome.run.steps.size() == row.steps);
      CHECK(outcome.ends() == row.end);
      CHECK(outcome.peak_blocks() == (row.steps > 0 ? 1 : 0));
    });
  }
}

TEST_CASE("four samples of one prompt share its full blocks") {
  for (const std::int64_t blocks : {1000, 15}) {
    on_each_run(four_samples(true, blocks), [](const Outcome& outcome) {
      CHECK(outcome.run.steps.size() == 10);
      CHECK(outcome.tokens(1) == "0:100 1:4 2:4 3:4");
      CHECK(to_text(outcome.step(1).admitted) == "0:0 1:96 2:96 3:96");
      CHECK(outcome.tokens(2) == "0:1 1:1 2:1 3:1");
      CHECK(outcome.peak_blocks() == 10);
      CHECK(outcome.scheduled() == 148);
    });
  }
}

TEST_CASE("four samples without a prefix cache take four times the prompt, two by two if memory is short") {
  on_each_run(four_samples(false, 1000), [](const Outcome& outcome) {
    CHECK(outcome.run.steps.size() == 10);
    CHECK(outcome.tokens(1) == "0:100 1:100 2:100 3:100");
    CHECK(outcome.peak_blocks() == 28);
    CHECK(outcome.scheduled() == 436);
  });
  on_each_run(four_samples(false, 15), [](const Outcome& outcome) {
    CHECK(outcome.run.steps.size() == 20);
    CHECK(outcome.tokens(1) == "0:100 1:100");
    CHECK(outcome.tokens(11) == "2:100 3:100");
    CHECK(outcome.token_steps.at(2) == std::pair<std::int64_t, std::int64_t>{11, 20});
    CHECK(outcome.peak_blocks() == 14);
    CHECK(outcome.scheduled() == 436);
  });
}

}  // namespace servetwin::test_reported_cases
