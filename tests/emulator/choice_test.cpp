// If these fail, a device chooses other tokens than the CPU's sampler, or copies other blocks than it was
// told.
#include <cmath>
#include <limits>
#include <vector>

#include "engine/decoding/sampler.h"
#include "kernels/blocks/copy_blocks_cost.h"
#include "kernels/blocks/copy_blocks_cuda.h"
#include "tests/emulator/kernel_rig.h"
#include "tests/emulator/mutants.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::choice_test {
namespace {

struct ChoiceCase {
  std::vector<SamplingParams> rows{};
  std::int64_t vocab = 100;
  double spread = 4;  // of the logits; they are multiples of `grain`
  double grain = 0;   // 0: any number
  std::uint64_t name = 1;
};

std::vector<float> logits_of(const ChoiceCase& c) {
  std::vector<float> logits = noise(c.name, static_cast<std::int64_t>(c.rows.size()) * c.vocab);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double wide = static_cast<double>(logits[i]) * c.spread;
    logits[i] = static_cast<float>(c.grain > 0 ? std::round(wide / c.grain) * c.grain : wide);
    if (i % 7 == 3) logits[i] = -std::numeric_limits<float>::infinity();
  }
  return logits;
}

bool matches(const ChoiceCase& c, decltype(choose_tokens_cuda)& function = choose_tokens_cuda) {
  const std::vector<float> logits = logits_of(c);
  std::vector<RowChoice> choices;
  std::vector<std::int32_t> expected;
  Sampler sampler;
  const std::vector<TokenId> tokens;
  for (std::size_t row = 0; row < c.rows.size(); ++row) {
    const SamplingParams& params = c.rows[row];
    const auto position = static_cast<std::uint32_t>(row);
    const double unit = draw_unit({params.seed, Stream::kSampling, 5}, position);
    choices.push_back({params.temperature, params.top_k, static_cast<float>(params.top_p),
                       static_cast<float>(params.min_p), static_cast<float>(unit)});
    const auto first = static_cast<std::int64_t>(row) * c.vocab;
    expected.push_back(
        sampler.sample(logits.data() + first, c.vocab, params, {&tokens, 0, 5, position}).token);
  }
  const Buffer<float> logits_there(logits);
  const Buffer<RowChoice> choices_there(choices);
  const Buffer<std::int32_t> chosen(c.rows.size());
  function({static_cast<std::int64_t>(c.rows.size()), c.vocab, logits_there.data(), choices_there.data(),
            chosen.data()},
           {});
  return chosen.values() == expected;
}

SamplingParams drawn(std::uint64_t seed, float temperature, std::int32_t top_k, double top_p, double min_p) {
  SamplingParams params;
  params.seed = seed;
  params.temperature = temperature;
  params.top_k = top_k;
  params.top_p = top_p;
  params.min_p = min_p;
  return params;
}

// Greedy, plain, and each restriction alone and together.
std::vector<SamplingParams> every_kind(std::uint64_t seed) {
  return {SamplingParams{},
          drawn(seed, 1.0F, 0, 1.0, 0.0),
          drawn(seed, 0.5F, 1, 1.0, 0.0),
          drawn(seed, 1.5F, 17, 1.0, 0.0),
          drawn(seed, 1.0F, 500, 1.0, 0.0),
          drawn(seed, 1.0F, 0, 0.7, 0.0),
          drawn(seed, 1.0F, 0, 0.01, 0.0),
          drawn(seed, 1.0F, 0, 1.0, 0.1),
          drawn(seed, 2.0F, 30, 0.9, 0.02)};
}

}  // namespace

TEST_CASE("a device chooses the tokens of the CPU's sampler, with every restriction and among equal logits") {
  under_nine_seeds([](std::uint64_t seed) {
    const double grains[] = {0.0, 8.0, 0.5};
    CHECK(matches({every_kind(seed), some_number(seed, 7, 20, 300), 4, grains[seed % 4 % 3], seed + 1}));
  });
  CHECK(matches({{SamplingParams{}, drawn(1, 1.0F, 0, 1.0, 0.0)}, 1, 4, 0, 1}));
  CHECK(matches({{}, 100, 4, 0, 1}));
}

TEST_CASE("a mutant of the choice of tokens is noticed: the first of equal logits instead of the drawn one") {
  const ChoiceCase equal{every_kind(3), 200, 4, 8.0, 2};
  CHECK(matches(equal));
  CHECK(is_noticed([&] { return matches(equal, choice_without_ties::choose_tokens_cuda); }));
}

TEST_CASE("no barrier of the choice of tokens can go") {
  check_no_barrier_can_go(5, [] { return matches({{drawn(1, 1.0F, 5, 0.9, 0.0)}, 100, 4, 0.5, 3}); });
}

TEST_CASE("a device copies blocks of any size where it is told, and no others") {
  for (const std::int64_t words : {1, 5, 64, 2001}) {
    CAPTURE(words);
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t i = 0; i < 6 * static_cast<std::uint32_t>(words); ++i) blocks.push_back(i * 7919U);
    const Buffer<std::uint32_t> there(blocks);
    const Buffer<std::int32_t> pairs(std::vector<std::int32_t>{0, 5, 3, 1, 0, 4});
    copy_blocks_cuda({there.data(), words * 4, pairs.data(), 3});
    const auto block = [&](std::int64_t index) { return blocks.begin() + index * words; };
    std::copy(block(0), block(1), block(5));
    std::copy(block(3), block(4), block(1));
    std::copy(block(0), block(1), block(4));
    CHECK(there.values() == blocks);
    CHECK(copy_blocks_work(3, static_cast<double>(words) * 4).bytes == static_cast<double>(words) * 24);
    copy_blocks_cuda({there.data(), words * 4, pairs.data(), 0});
    CHECK(there.values() == blocks);
  }
}

}  // namespace servetwin::emulator::choice_test
