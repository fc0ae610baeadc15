// If these fail, a device sends tokens to other experts than the CPU does, or weighs them otherwise.
#include "kernels/moe/router.h"

#include <vector>

#include "tests/emulator/kernel_rig.h"
#include "tests/emulator/mutants.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::router_test {
namespace {

// Logits are multiples of a quarter where `ties`.
bool matches(const RouterOptions& options,
             std::int64_t tokens,
             bool corrects,
             bool ties,
             decltype(route_cuda)& function = route_cuda) {
  std::vector<float> logits = noise(1, tokens * options.experts);
  for (float& logit : logits) logit = ties ? static_cast<float>(static_cast<int>(logit * 8)) / 4 : logit * 6;
  const std::vector<float> correction = noise(2, options.experts);
  const Buffer<float> logits_there(logits);
  const Buffer<float> correction_there(correction);
  const auto chosen = static_cast<std::size_t>(tokens * options.top_k);
  const Buffer<std::int32_t> ids(chosen);
  const Buffer<float> weights(chosen);
  function(
      options,
      {tokens, logits_there.data(), corrects ? correction_there.data() : nullptr, ids.data(), weights.data()},
      {});
  std::vector<std::int32_t> expected_ids(chosen);
  std::vector<float> expected_weights(chosen);
  route(options, logits.data(), corrects ? correction.data() : nullptr, tokens, expected_ids.data(),
        expected_weights.data());
  return ids.values() == expected_ids && is_close(weights.values(), expected_weights, DType::kF32);
}

RouterOptions some_options(std::uint64_t seed) {
  RouterOptions options;
  options.groups = some_number(seed, 20, 1, 4);
  options.experts = options.groups * some_number(seed, 21, 2, 30);
  options.top_groups = some_number(seed, 22, 1, options.groups);
  options.top_k = some_number(seed, 23, 1, options.experts / options.groups);
  options.score = seed % 2 == 0 ? RouterScore::kSoftmax : RouterScore::kSigmoid;
  options.group_score = seed % 3 == 0 ? GroupScore::kTopTwo : GroupScore::kMaximum;
  options.renormalise = seed % 4 < 2;
  options.factor = seed % 4 == 1 ? 2.5F : 1.0F;
  return options;
}

}  // namespace

TEST_CASE("a device routes tokens as the CPU does, with groups, corrections and equal scores") {
  under_nine_seeds([](std::uint64_t seed) {
    const RouterOptions options = some_options(seed);
    CAPTURE(options.experts, options.groups, options.top_groups, options.top_k);
    const std::int64_t tokens = some_number(seed, 24, 0, 9);
    CHECK(matches(options, tokens, false, false));
    CHECK(matches(options, tokens, true, false));
    CHECK(matches(options, tokens, false, true));
  });
}

TEST_CASE("a mutant of the router is noticed: the higher id of equal scores") {
  RouterOptions options;
  options.experts = 40;
  options.top_k = 6;
  CHECK(matches(options, 5, false, true));
  CHECK(is_noticed([&] { return matches(options, 5, false, true, router_with_higher_ids::route_cuda); }));
}

TEST_CASE("no barrier of the router can go") {
  RouterOptions options;
  options.experts = 40;
  options.top_k = 6;
  options.groups = 4;
  options.top_groups = 2;
  check_no_barrier_can_go(5, [&] { return matches(options, 5, true, false); });
}

}  // namespace servetwin::emulator::router_test
