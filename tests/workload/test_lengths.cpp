// If this failed, prompts and answers would have other lengths than the scenario or the recorded traffic
// says.
#include <algorithm>
#include <cmath>

#include "engine/workload/length_tables.h"
#include "engine/workload/plugin_choice.h"
#include "engine/workload/traffic.h"
#include "tests/support/catch.h"
#include "tests/workload/nodes.h"

namespace servetwin::test_lengths {
namespace {

double mean_of(const LengthDistribution& lengths, int steps = 100'000) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += static_cast<double>(lengths.quantile((i + 0.5) / steps).value);
  return sum / steps;
}

std::string problem_of(const Entries& params) {
  return error_of([&] { make_length(map_of(params)); });
}

}  // namespace

TEST_CASE("a plain number is a constant length") {
  CHECK(make_length(text("512"))->quantile(0.3) == Tokens{512});
  CHECK(make_length(map_of({{"distribution", text("constant")}, {"value", text("7")}}))->quantile(0.9) ==
        Tokens{7});
}

TEST_CASE("uniform lengths take every value from low to high equally often") {
  const auto lengths =
      make_length(map_of({{"distribution", text("uniform")}, {"low", text("3")}, {"high", text("6")}}));
  int counts[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4000; ++i) ++counts[lengths->quantile((i + 0.5) / 4000).value - 3];
  for (const int count : counts) CHECK(count == 1000);
}

TEST_CASE("lognormal lengths have the mean and cv, or the median and sigma, asked for") {
  const auto by_mean =
      make_length(map_of({{"distribution", text("lognormal")}, {"mean", text("1000")}, {"cv", text("0.8")}}));
  CHECK(std::abs(mean_of(*by_mean) - 1000) < 1);
  const auto by_median = make_length(
      map_of({{"distribution", text("lognormal")}, {"median", text("300")}, {"sigma", text("1")}}));
  CHECK(by_median->quantile(0.5) == Tokens{300});
  CHECK(by_median->quantile(0.8413447460685429) == Tokens{815});  // 300 e
}

TEST_CASE("clipping moves draws to the ends") {
  const auto lengths = make_length(map_of({{"distribution", text("lognormal")},
                                           {"median", text("300")},
                                           {"sigma", text("2")},
                                           {"min", text("100")},
                                           {"max", text("500")}}));
  CHECK(lengths->quantile(0.01) == Tokens{100});
  CHECK(lengths->quantile(0.99) == Tokens{500});
}

TEST_CASE("a quantile table is linear between its points") {
  const auto lengths = make_length(map_of({{"distribution", text("quantiles")},
                                           {"probabilities", list({text("0"), text("0.5"), text("1")})},
                                           {"values", list({text("10"), text("20"), text("120")})}}));
  CHECK(lengths->quantile(0.25) == Tokens{15});
  CHECK(lengths->quantile(0.75) == Tokens{70});
}

TEST_CASE("impossible length parameters are refused with what to do") {
  CHECK(problem_of({{"distribution", text("lognormal")}, {"mean", text("10")}}).find("give mean and cv") !=
        std::string::npos);
  CHECK(problem_of({{"distribution", text("uniform")}, {"low", text("9")}, {"high", text("3")}})
            .find("low is above high") != std::string::npos);
  CHECK(problem_of({{"distribution", text("lognorml")}}).find("lognormal") != std::string::npos);
  CHECK(problem_of({{"value", text("3")}}).find("no distribution is named") != std::string::npos);
  CHECK(problem_of({{"distribution", text("quantiles")},
                    {"probabilities", list({text("0"), text("1")})},
                    {"values", list({text("5"), text("4")})}})
            .find("values must not fall") != std::string::npos);
}

TEST_CASE("every length distribution rises with the probability and stays at one token or more") {
  const std::vector<Entries> all{
      {{"distribution", text("constant")}, {"value", text("1")}},
      {{"distribution", text("uniform")}, {"low", text("1")}, {"high", text("9")}},
      {{"distribution", text("lognormal")}, {"median", text("2")}, {"sigma", text("3")}},
      {{"distribution", text("quantiles")},
       {"probabilities", list({text("0"), text("1")})},
       {"values", list({text("1"), text("4")})}}};
  CHECK(all.size() == Registry<LengthDistribution>::instance().names().size());
  for (const Entries& params : all) {
    const auto lengths = make_length(map_of(params));
    Tokens previous{1};
    for (int i = 1; i < 1000; ++i) {
      const Tokens length = lengths->quantile(i / 1000.0);
      CHECK(length >= previous);
      previous = length;
    }
  }
}

TEST_CASE("the built-in tables reproduce means and the dependence of the recorded traffic") {
  struct Expected {
    const char* name;
    double input;
    double output;
  };
  // Means of the recorded rows: traces_azure2023, its README.
  for (const Expected& expected :
       {Expected{"azure-2023-conversation", 1155, 211}, Expected{"azure-2023-code", 2048, 28}}) {
    const auto& all = length_figures();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const LengthFigures& f) { return f.name == expected.name; });
    REQUIRE(found != all.end());
    CHECK(found->source.find("CC-BY 4.0") != std::string::npos);
    const JointLengths joint(*found);
    double input = 0;
    double output = 0;
    constexpr int kSteps = 500;
    for (int i = 0; i < kSteps; ++i) {
      for (int j = 0; j < kSteps; ++j) {
        const LengthPair pair = joint.quantile((i + 0.5) / kSteps, (j + 0.5) / kSteps);
        input += static_cast<double>(pair.input.value) / (kSteps * kSteps);
        output += static_cast<double>(pair.output.value) / (kSteps * kSteps);
      }
    }
    CHECK(std::abs(input / expected.input - 1) < 0.01);
    CHECK(std::abs(output / expected.output - 1) < 0.02);
  }
  // In conversations the second fifth of prompts has short answers and the middle one long: 100 against 400.
  const JointLengths conversation(length_figures().front());
  CHECK(conversation.quantile(0.3, 0.5).output < Tokens{120});
  CHECK(conversation.quantile(0.5, 0.5).output > Tokens{380});
}

TEST_CASE("max_tokens follows its rule, and only the true output is an oracle") {
  const DrawSite site{1, 0, 0};
  CHECK(MaxTokensRule(ConfigNode{}).max_tokens(site, Tokens{9}) == Tokens{4096});
  CHECK(MaxTokensRule(text("100")).max_tokens(site, Tokens{9}) == Tokens{100});
  CHECK(MaxTokensRule(map_of({{"fixed", text("64")}})).max_tokens(site, Tokens{9}) == Tokens{64});
  CHECK(MaxTokensRule(map_of({{"multiple_of_output", text("1.5")}})).max_tokens(site, Tokens{9}) ==
        Tokens{14});
  CHECK(MaxTokensRule(text("output")).max_tokens(site, Tokens{9}) == Tokens{9});
  CHECK(MaxTokensRule(text("output")).is_oracle());
  CHECK_FALSE(MaxTokensRule(text("100")).is_oracle());
  CHECK_FALSE(MaxTokensRule(map_of({{"multiple_of_output", text("1.5")}})).is_oracle());
  const MaxTokensRule drawn(
      map_of({{"distribution", text("uniform")}, {"low", text("5")}, {"high", text("6")}}));
  CHECK(drawn.max_tokens(site, Tokens{1000}) >= Tokens{5});
  CHECK(drawn.max_tokens(site, Tokens{1000}) <= Tokens{6});
  CHECK(error_of([] { MaxTokensRule(map_of({})); }).find("give fixed") != std::string::npos);
}

}  // namespace servetwin::test_lengths
