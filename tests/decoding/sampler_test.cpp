// If these fail, a request gets tokens that its sampling parameters exclude, or in other proportions than
// they say, or another draw for the same seed.
#include "engine/decoding/sampler.h"

#include <cmath>
#include <map>
#include <set>

#include "tests/support/catch.h"

namespace servetwin::sampler_test {
namespace {

// Tokens said so far; none is prompt unless stated.
struct Talk {
  std::vector<TokenId> tokens{};
  std::int64_t prompt = 0;

  SampledToken next(const std::vector<float>& logits,
                    const SamplingParams& params,
                    std::uint32_t position = 0) {
    const SamplingContext context{&tokens, prompt, 7, position};
    return sampler.sample(logits.data(), static_cast<std::int64_t>(logits.size()), params, context);
  }

  Sampler sampler{};
};

SamplingParams drawn(float temperature = 1) {
  SamplingParams params;
  params.temperature = temperature;
  params.seed = 11;
  return params;
}

// How often each token comes in `draws` draws.
std::map<TokenId, int> histogram(const std::vector<float>& logits, const SamplingParams& params, int draws) {
  Talk talk;
  std::map<TokenId, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[talk.next(logits, params, static_cast<std::uint32_t>(i)).token];
  return counts;
}

std::set<TokenId> seen(const std::vector<float>& logits, const SamplingParams& params) {
  std::set<TokenId> tokens;
  for (const auto& [token, count] : histogram(logits, params, 2000)) tokens.insert(token);
  return tokens;
}

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

TEST_CASE("greedy takes the most likely, the lowest id of equal ones") {
  CHECK(Talk{}.next({1, 3, 2, 3}, {}).token == 1);
}

TEST_CASE("draws follow the softmax of the logits over the temperature") {
  for (const double temperature : {1.0, 0.5, 2.0}) {
    CAPTURE(temperature);
    const std::vector<double> p{0.5, 0.3, 0.15, 0.05};
    const auto counts = histogram(logits_of(p), drawn(static_cast<float>(temperature)), 20'000);
    double total = 0;
    for (const double one : p) total += std::pow(one, 1 / temperature);
    double chi_squared = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double expected = 20'000 * std::pow(p[i], 1 / temperature) / total;
      const auto found = counts.find(static_cast<TokenId>(i));
      const double count = found == counts.end() ? 0 : found->second;
      chi_squared += (count - expected) * (count - expected) / expected;
    }
    CHECK(chi_squared < 16.3);  // 3 degrees of freedom, one in a thousand
  }
}

TEST_CASE("top-k, top-p and min-p keep what they say, and top-p keeps the token that crosses") {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.2, 0.3});
  SamplingParams params = drawn();
  params.top_k = 2;
  CHECK(seen(logits, params) == std::set<TokenId>{1, 3});
  params.top_k = 0;
  params.top_p = 0.69;
  CHECK(seen(logits, params) == std::set<TokenId>{1, 3});
  params.top_p = 0.71;
  CHECK(seen(logits, params) == std::set<TokenId>{1, 2, 3});
  params.top_p = 0.01;
  CHECK(seen(logits, params) == std::set<TokenId>{1});
  params.top_p = 1;
  params.min_p = 0.6;
  CHECK(seen(logits, params) == std::set<TokenId>{1, 3});
}

TEST_CASE("top-p counts what min-p and top-k left") {
  SamplingParams params = drawn();
  params.top_k = 2;
  params.top_p = 0.6;  // of 0.4 and 0.3: the second still starts below 0.42
  CHECK(seen(logits_of({0.1, 0.4, 0.2, 0.3}), params) == std::set<TokenId>{1, 3});
  params.top_p = 0.5;  // 0.4 of 0.7 has crossed
  CHECK(seen(logits_of({0.1, 0.4, 0.2, 0.3}), params) == std::set<TokenId>{1});
}

TEST_CASE("temperature comes before min-p") {
  SamplingParams params = drawn(0.25F);
  params.min_p = 0.5;
  CHECK(seen(logits_of({0.4, 0.3, 0.3}), params) == std::set<TokenId>{0});
  params.temperature = 4;
  CHECK(seen(logits_of({0.4, 0.3, 0.3}), params) == std::set<TokenId>{0, 1, 2});
}

TEST_CASE("penalties count prompt and outputs as they should") {
  Talk talk;
  talk.tokens = {0, 1, 1, 2};
  talk.prompt = 1;
  SamplingParams params;
  params.repetition_penalty = 2;  // prompt and outputs
  CHECK(talk.next({4, 3, -1, 2.1F}, params).token == 3);
  CHECK(talk.next({-1, -1.1F, -1.2F, -2.1F}, params).token == 0);  // −2, −2.2, −2.4, −2.1
  params.repetition_penalty = 1;
  params.frequency_penalty = 1;  // outputs: token 1 twice, token 2 once
  CHECK(talk.next({2.5F, 5, 3, 0}, params).token == 1);
  CHECK(talk.next({2.5F, 4.4F, 3, 0}, params).token == 0);
  params.frequency_penalty = 0;
  params.presence_penalty = 1;
  CHECK(talk.next({2.5F, 3.6F, 3, 0}, params).token == 1);
}

TEST_CASE("bias and allowed tokens act before the choice") {
  SamplingParams params;
  params.logit_bias = {{2, 5.0F}, {0, -100.0F}};
  CHECK(Talk{}.next({9, 1, 1, 5}, params).token == 2);
  params.allowed = {1, 3};
  CHECK(Talk{}.next({9, 1, 1, 5}, params).token == 3);
}

TEST_CASE("before min_tokens nothing ends the answer; then EOS and stop ids do, EOS unless it is ignored") {
  SamplingParams params;
  params.eos_ids = {0};
  params.stop_ids = {1};
  params.min_tokens = 3;
  Talk talk;
  CHECK(talk.next({9, 8, 7}, params).token == 2);
  CHECK_FALSE(stops(params, 0, 2));
  talk.tokens = {2, 2};
  CHECK(talk.next({9, 8, 7}, params).token == 0);
  CHECK(stops(params, 0, 3));
  CHECK(stops(params, 1, 3));
  CHECK_FALSE(stops(params, 2, 3));
  params.ignore_eos = true;
  CHECK_FALSE(stops(params, 0, 3));
  CHECK(stops(params, 1, 3));
}

TEST_CASE("log-probabilities are the model's own, whatever the request changes") {
  SamplingParams params;
  params.logprobs = 2;
  params.logit_bias = {{2, 50.0F}};
  const SampledToken sampled = Talk{}.next(logits_of({0.2, 0.5, 0.3}), params);
  CHECK(sampled.token == 2);
  CHECK(static_cast<double>(sampled.logprob) == Approx(std::log(0.3)).epsilon(1e-5));
  REQUIRE(sampled.top.size() == 2);
  CHECK(sampled.top[0].token == 1);
  CHECK(sampled.top[1].token == 2);
  CHECK(static_cast<double>(sampled.top[0].logprob) == Approx(std::log(0.5)).epsilon(1e-5));
}

TEST_CASE("a draw depends on seed, stream and position, on nothing else") {
  const std::vector<float> flat(50, 0.0F);
  SamplingParams params = drawn();
  Talk talk;
  const TokenId first = talk.next(flat, params, 3).token;
  talk.next(flat, params, 4);
  CHECK(talk.next(flat, params, 3).token == first);
  std::set<TokenId> others;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    params.seed = seed;
    others.insert(talk.next(flat, params, 3).token);
  }
  CHECK(others.size() > 5);
}

}  // namespace
}  // namespace servetwin::sampler_test
