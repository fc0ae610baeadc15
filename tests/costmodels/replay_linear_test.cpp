// If this fails, given durations are read or looked up wrongly, or the linear model is no longer its formula.
#include "tests/costmodels/cost_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::replay_linear_test {
namespace {

Duration replayed(const CostModel& cost, std::uint64_t step, RequestId request = kNoRequest) {
  const StepShape shape = decode_shape(1, 1);
  StepInput input;
  input.shape = &shape;
  input.step = StepId{step};
  input.first_request = request;
  return cost.step_time(input);
}

Problem problem_in(const std::string& text) {
  const TestFile file("broken.csv", text);
  return problem_making("replay", {{"durations", file.path()}});
}

TEST_CASE("durations are exact nanoseconds, by step, with a row for all others") {
  const TestFile file("steps.csv", "step,duration_us\n*,10000\n2,0.001\n3,1234.567\n");
  const auto cost = make_cost("replay", {{"durations", file.path()}});
  CHECK(replayed(*cost, 1) == Duration{10'000'000});
  CHECK(replayed(*cost, 2) == Duration{1});
  CHECK(replayed(*cost, 3) == Duration{1'234'567});
  CHECK_FALSE(cost->decode_line(decode_shape(1, 1)).has_value());
}

TEST_CASE("durations may be keyed by the request of a step") {
  const TestFile file("requests.csv", "request,duration_us\n0,5\n7,9\n");
  const auto cost = make_cost("replay", {{"durations", file.path()}});
  CHECK(replayed(*cost, 1, RequestId{7}) == Duration{9'000});
  CHECK(replayed(*cost, 7, RequestId{0}) == Duration{5'000});
}

TEST_CASE("a step without a duration breaks an invariant rather than costing nothing") {
  make_checks_throw();
  const TestFile file("few.csv", "step,duration_us\n1,5\n");
  const auto cost = make_cost("replay", {{"durations", file.path()}});
  CHECK(replayed(*cost, 1) == Duration{5'000});
  CHECK_THROWS_AS(replayed(*cost, 2), BrokenInvariant);
}

TEST_CASE("file names start at the scenario's folder") {
  std::filesystem::create_directory("replay_folder");
  const TestFile file("replay_folder/steps.csv", "step,duration_us\n*,3\n");
  CostContext context;
  context.folder = "replay_folder";
  CHECK(replayed(*make_cost("replay", {{"durations", "steps.csv"}}, context), 1) == Duration{3'000});
}

TEST_CASE("a file says itself whether its times were measured") {
  const TestFile given("given.csv", "step,duration_us\n*,3\n");
  CHECK(make_cost("replay", {{"durations", given.path()}})->evidence() == Evidence::kAnalytic);
  const TestFile measured("measured.csv", "# evidence: measured on one H100\nstep,duration_us\n*,3\n");
  CHECK(make_cost("replay", {{"durations", measured.path()}})->evidence() == Evidence::kMeasured);
}

TEST_CASE("each broken file is refused with its line") {
  CHECK(problem_in("step,duration_ms\n*,1\n").place.line == 1);
  CHECK(problem_in("step,duration_us\n1,2,3\n").message == "has 3 cells, not 2");
  CHECK(problem_in("step,duration_us\n1,2\n1,3\n").message == "holds 1 twice");
  CHECK(problem_in("step,duration_us\n*,2\n*,3\n").place.line == 3);
  CHECK(problem_in("step,duration_us\n1,-2\n").message.find("-2") != std::string::npos);
  CHECK(problem_in("step,duration_us\n-1,2\n").message == "\"-1\" is negative");
  CHECK(problem_in("step,duration_us\n1,0.0001\n").place.line == 2);
  CHECK(problem_in("step,duration_us\n1,fast\n").place.line == 2);
  CHECK(problem_in("step,duration_us\n").message == "holds no duration");
  CHECK(problem_making("replay", {{"durations", "no_such.csv"}}).place.file == "no_such.csv");
  CHECK(problem_making("replay", {}).path.find("durations") != std::string::npos);
}

TEST_CASE("the linear model is its formula, rounded once") {
  const auto cost =
      make_cost("linear", {{"base", "6.5ms"}, {"per_token_ns", "25000"}, {"per_context_ns", "48.9"}});
  CHECK(time_of(*cost, decode_shape(50, 1155)) == Duration{6'500'000 + 50 * 25'000 + 2'823'975});
  const auto more = make_cost("linear", {{"base", "1us"},
                                         {"per_token_ns", "2"},
                                         {"per_context_ns", "0"},
                                         {"per_pair_ns", "1"},
                                         {"per_sequence_ns", "100"}});
  CHECK(time_of(*more, with_prefill({}, 10, 5)) == Duration{1'000 + 20 + (50 + 55) + 100});
}

TEST_CASE("the linear model has no silent defaults for what it is made of") {
  CHECK(problem_making("linear", {{"base", "1ms"}, {"per_token_ns", "1"}}).path.find("per_context_ns") !=
        std::string::npos);
}

}  // namespace
}  // namespace servetwin::replay_linear_test
